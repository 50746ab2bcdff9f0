import { createHash, randomBytes } from 'node:crypto'

/// Makes a nonce for Sign in with Apple. The hash is for Apple, and the raw nonce for the backend or Firebase.
export function noncePair(raw = randomBytes(24).toString('base64url')) {
  return { raw, sha256: createHash('sha256').update(raw).digest('hex') }
}
