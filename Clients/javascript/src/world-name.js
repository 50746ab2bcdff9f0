import { createHash, randomBytes } from 'node:crypto'

// These are the rules of `understudy world-name`. The names work in a path, in a host name and as the proxy's user.
const labelLimit = 63
const digestLength = 12

/// Makes a world's name from any text. The same text always gives the same name, different texts give different ones.
export function worldName(text) {
  const readable = readablePart(text)
  if (readable === text && text !== '' && text.length <= labelLimit && text !== 'default') return text
  return joined(readable, createHash('sha256').update(text).digest('hex').slice(0, digestLength))
}

/// Makes a unique name of a world that shows what the world is for.
export const uniqueWorldName = text => joined(readablePart(text), randomBytes(digestLength / 2).toString('hex'))

function joined(readable, digits) {
  const kept = readable.slice(0, labelLimit - digits.length - 1).replace(/-+$/, '')
  return `${kept || 'world'}-${digits}`
}

/// Makes ASCII letters lower-case, keeps digits, and puts a hyphen in the place of all other characters.
const readablePart = text =>
  text.replace(/[A-Z]/g, letter => letter.toLowerCase()).replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
