/** A nonce and its SHA-256 digest. */
export interface NoncePair {
  /** The raw nonce, for the backend or Firebase. */
  raw: string
  /** The digest in lower-case hexadecimal, which the app puts into `request.nonce`. */
  sha256: string
}

/** Makes a nonce for Sign in with Apple. `raw` is random unless it is given. */
export function noncePair(raw?: string): NoncePair
