/** How many are there before anything is measured. */
export const records = 10_000;

export const digitsOf = (index: number): string => index.toString().padStart(10, "0");

/** What is sent for a record; everything else of it is what the server puts there by itself. @param digits ten of them, its own */
export const recordOf = (digits: string) => ({
  kind: "user",
  subject_id: `8035111${digits}`,
  category: "raid",
  severity: "high",
  reason_public: `Led the raid number ${digits} of last night in the trade channel`,
});

/** Of a request that makes a record, for the client: it puts the digits in. */
export const recordBody = JSON.stringify(recordOf("{number}"));
