/** The most that a timer of JavaScript can wait, 24 days. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Throws a RangeError for what is no time in milliseconds. */
export function checkTime(time: number | null | undefined, name: string): void {
  if (time !== undefined && time !== null && !(typeof time === "number" && time >= 0)) {
    throw new RangeError(`'${name}' is a number of milliseconds, not ${String(time)}`);
  }
}

/** Calls `action` after a time; never if that is more than a timer can wait. */
export function afterTime(time: number | null | undefined, action: () => void): NodeJS.Timeout | undefined {
  return time === undefined || time === null || time > LONGEST_TIMER ? undefined : setTimeout(action, time);
}
