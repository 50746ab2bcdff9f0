import { createHash, randomBytes } from 'node:crypto'

// The same rules as `understudy world-name`: a name that works in a path, in a host name and as the proxy's user.
const labelLimit = 63
const digestLength = 12

/// A world's name made from any text: the same text always gives the same name, different texts give different ones.
export function worldName(text) {
  const readable = readablePart(text)
  if (readable === text && text !== '' && text.length <= labelLimit && text !== 'default') return text
  return joined(readable, createHash('sha256').update(text).digest('hex').slice(0, digestLength))
}

/// A name that nobody else has, which shows what it is for.
export const uniqueWorldName = text => joined(readablePart(text), randomBytes(digestLength / 2).toString('hex'))

function joined(readable, digits) {
  const kept = readable.slice(0, labelLimit - digits.length - 1).replace(/-+$/, '')
  return `${kept || 'world'}-${digits}`
}

/// Letters of ASCII in lower case and digits, with a hyphen in place of what lies between them.
const readablePart = text =>
  text.replace(/[A-Z]/g, letter => letter.toLowerCase()).replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
