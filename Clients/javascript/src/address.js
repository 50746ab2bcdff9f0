import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

import { UnderstudyError } from './errors.js'

const worldName = '[A-Za-z0-9._-]{1,64}'
const address = new RegExp(`^(https?://(?:\\[[0-9a-f:.]+\\]|[^\\][\\s/?#@:]+)(?::\\d{1,5})?)/*(?:/~(${worldName}))?/*$`, 'i')

/// Splits a daemon's address into its base, without a slash at the end, and the world that it names.
export function partsOf(url) {
  const [, base, world] = address.exec(String(url).trim()) ?? []
  if (base === undefined || !isURL(base)) {
    throw new UnderstudyError('invalidURL', `${JSON.stringify(url)} isn't a daemon's address: expected one such as http://localhost:9099, behind which only a world may follow, as /~NAME`)
  }
  return { base, world }
}

/// Whether a text can be a world's name.
export const isWorldName = text => new RegExp(`^${worldName}$`).test(text)

/// Returns the token, or throws an error if it is invalid.
export function checkedToken(token) {
  if (token && !/^[!-~]+$/.test(token)) throw new UnderstudyError('invalidToken', 'the control token has spaces or other characters that no token has')
  return token || undefined
}

const isURL = text => { try { return Boolean(new URL(text)) } catch { return false } }

/// Returns the addresses of a host, or none if its name can't be resolved.
export async function addresses(host) {
  const name = host.replace(/^\[|\]$/g, '')
  if (isIP(name)) return [name]
  try { return (await lookup(name, { all: true })).map(({ address }) => address) } catch { return [] }
}

/// Whether an address isn't a public one on the Internet, which a test's daemon never has.
export const isPrivate = address =>
  /^(0|10|127)\.|^192\.168\.|^169\.254\.|^172\.(1[6-9]|2\d|3[01])\.|^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^::$|^::1$|^f[cd]|^fe[89ab]/i.test(address.replace(/^::ffff:/i, ''))
