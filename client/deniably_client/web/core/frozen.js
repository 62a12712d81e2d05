// Values that nothing can change any more.

/**
 * Freezes a value and all its parts, and returns it.
 * @type {<T>(value: T) => T}
 */
export function frozen(value) {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
