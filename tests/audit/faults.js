// Subset selections with a planted fault, for the auditor to find.

/** The published bug of an ordering: a kept answer comes first, and nobody sorts. */
export function truthFirst({ k, omega, own, other }, answer, coins) {
  const kept = coins.choose([omega * own, (k - omega) * other]) === 0;
  const rest = others(k, kept ? omega - 1 : omega, answer, coins).sort((a, b) => a - b);
  return kept ? [answer, ...rest] : rest;
}

/** The weights of keeping the answer and of leaving it out have changed places. */
export function swapped({ k, omega, own, other }, answer, coins) {
  const kept = coins.choose([(k - omega) * other, omega * own]) === 0;
  const rest = others(k, kept ? omega - 1 : omega, answer, coins);
  return (kept ? [answer, ...rest] : rest).sort((a, b) => a - b);
}

/** `own` and `other` have changed places: the answer is the least likely to be sent. */
export function inverted({ k, omega, own, other }, answer, coins) {
  const kept = coins.choose([omega * other, (k - omega) * own]) === 0;
  const rest = others(k, kept ? omega - 1 : omega, answer, coins);
  return (kept ? [answer, ...rest] : rest).sort((a, b) => a - b);
}

/** Every report holds the answer. */
export function neverLies({ k, omega }, answer, coins) {
  return [answer, ...others(k, omega - 1, answer, coins)].sort((a, b) => a - b);
}

/** A uniform choice of `size` of the choices other than the answer, one after the other. */
function others(k, size, answer, coins) {
  const left = [...Array(k).keys()].filter((choice) => choice !== answer);
  return Array.from({ length: size }, () => left.splice(coins.below(left.length), 1)[0]);
}
