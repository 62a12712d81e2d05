// Freezes values, so that what was checked stays as it was checked.

/**
 * Freezes a JSON value and everything in it, and returns the value.
 * @type {<T>(value: T) => T}
 */
export function frozen(value) {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
