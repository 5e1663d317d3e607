/**
 * Do some work in bounded parts, until a part is not full: nothing is left then.
 * @param size of a full part
 * @returns how many in all
 */
export async function inBatches(size: number, part: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const done = await part();
    total += done;
    if (done < size) return total;
  }
}
