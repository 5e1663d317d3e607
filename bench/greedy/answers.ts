const headEnd = "\r\n\r\n";
const lengthHeader = /\r\ncontent-length: (\d+)\r\n/i;
const noBytes = Buffer.alloc(0);

/**
 * Tells when an answer is there, on a connection that asks only after the one before. Nothing is kept but the beginning of a head.
 * @returns takes the bytes as they come; they may be overwritten afterwards
 */
export function createAnswerReader(onAnswer: (status: number) => void): (chunk: Buffer) => void {
  let head = noBytes;
  let status = 0;
  let missing = 0;

  function begin(chunk: Buffer): void {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(headEnd);
    if (end === -1) return;
    const text = head.toString("latin1", 0, end + headEnd.length);
    status = Number(text.slice(9, 12));
    missing = Number(lengthHeader.exec(text)?.[1] ?? 0) - (head.length - end - headEnd.length);
    head = noBytes;
    if (missing === 0) onAnswer(status);
  }

  return (chunk) => {
    if (missing === 0) return begin(chunk);
    missing -= chunk.length;
    if (missing === 0) onAnswer(status);
  };
}
