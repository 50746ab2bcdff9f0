import { createHash, randomBytes } from 'node:crypto'

/// A nonce as apps make it for Sign in with Apple: the hash goes to Apple, the raw one to the backend or to Firebase.
export function noncePair(raw = randomBytes(24).toString('base64url')) {
  return { raw, sha256: createHash('sha256').update(raw).digest('hex') }
}
