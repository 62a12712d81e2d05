// Trades an invitation for a ticket (SPEC section 11). The report's id is drawn and blinded before
// anything is sent, so the server that signs it cannot link a report to an invitation.

import { Coins } from "../core/coins.js";
import { blind, finalise, prepare } from "../trust/blind_rsa.js";

/** @import { Memory, Trade } from "./types.js" */

/**
 * Returns the memory with a trade of this code, to be kept before anything is sent. No change
 * where there is a trade or a ticket already.
 * @type {(memory: Memory, version: string, key: string, code: string) => Promise<Memory>}
 */
export async function beginTrade(memory, version, key, code) {
  const { tickets = {}, trades = {} } = memory;
  if (tickets[version] || trades[version]) return memory;
  const id = new Coins().drawId();
  const prepared = prepare(id);
  const prefix = prepared.slice(0, -id.length);
  const { blinded, inverse } = await blind(key, prepared);
  return { ...memory, trades: { ...trades, [version]: { blinded, code, id, inverse, prefix } } };
}

/**
 * Returns the memory with a ticket in the place of the trade. No change where this trade is over.
 * Throws Refused where the server signed something else, or with another key than its register
 * shows.
 * @type {(memory: Memory, version: string, key: string, trade: Trade, signed: string) =>
 *   Promise<Memory>}
 */
export async function finishTrade(memory, version, key, trade, signed) {
  if (!isOpen(memory, version, trade)) return memory;
  const { id, prefix, inverse } = trade;
  const ticket = prefix + (await finalise(key, prefix + id, signed, inverse));
  const tickets = { ...memory.tickets, [version]: { id, ticket } };
  return { ...endTrade(memory, version, trade), tickets };
}

/**
 * Returns the memory without a trade that the server refused. No change where it has another one.
 * @type {(memory: Memory, version: string, trade: Trade) => Memory}
 */
export function endTrade(memory, version, trade) {
  if (!isOpen(memory, version, trade)) return memory;
  const { trades, ...rest } = memory;
  const left = Object.entries(trades ?? {}).filter(([key]) => key !== version);
  return left.length > 0 ? { ...rest, trades: Object.fromEntries(left) } : rest;
}

/**
 * Whether this very trade is open; another tab may have ended it and begun a new one.
 * @type {(memory: Memory, version: string, trade: Trade) => boolean}
 */
const isOpen = ({ trades }, version, { blinded }) => trades?.[version]?.blinded === blinded;
