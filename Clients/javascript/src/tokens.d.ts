/** The way in which a token is broken; by default it isn't. */
export interface Tampering {
  /** Claims in place of those that it would have: `null` leaves one out; of times, `"-1h"` is an hour ago. */
  claims?: Record<string, unknown> | undefined
  /** Members of the header in place of those that it would have. */
  header?: Record<string, unknown> | undefined
  signature?: 'valid' | 'invalid' | 'unknownKey' | 'wrongAlgorithm' | 'none' | undefined
}

/** An ID token that nobody signed in for. */
export interface TokenOrder extends Tampering {
  provider: 'apple' | 'google' | 'facebook' | 'microsoft' | 'firebase' | 'openid' | (string & {})
  /** For which client; at Firebase, for which project. */
  client: string
  /** The account's ID; at Firebase a user's local ID or e-mail address. */
  account?: string | null | undefined
  nonce?: string | null | undefined
  scopes?: string[] | null | undefined
}

/** A token, encoded and decoded. */
export interface MintedToken {
  token: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/** Tokens without a sign-in. */
export interface Tokens {
  /** An ID token, whole or broken in one place. */
  mint(order: TokenOrder): Promise<MintedToken>
  /** Ends an access or refresh token of any provider. */
  revoke(token: string): Promise<{ provider: string; kind: string; client: string }>
}
