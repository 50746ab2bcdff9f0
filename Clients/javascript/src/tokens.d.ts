/** Changes that break a token. By default it is valid. */
export interface Tampering {
  /**
   * Claims that replace the token's usual ones. `null` leaves a claim out. A time may be relative: `"-1h"` is an hour
   * ago.
   */
  claims?: Record<string, unknown> | undefined
  /** Members that replace the usual ones of the token's header. */
  header?: Record<string, unknown> | undefined
  signature?: 'valid' | 'invalid' | 'unknownKey' | 'wrongAlgorithm' | 'none' | undefined
}

/** The description of an ID token that is minted without a sign-in. */
export interface TokenOrder extends Tampering {
  provider: 'apple' | 'google' | 'facebook' | 'microsoft' | 'firebase' | 'openid' | (string & {})
  /** The ID of the client for which the token is, or at Firebase the project. */
  client: string
  /** At `openid`, the issuer's ID. Default: the first issuer that has the client. */
  issuer?: string | null | undefined
  /** The account's ID, or at Firebase a user's local ID or e-mail address. */
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

/** Tokens that a test gets without a sign-in. */
export interface Tokens {
  /** Mints a valid or broken ID token. */
  mint(order: TokenOrder): Promise<MintedToken>
  /** Revokes an access or refresh token of any provider. */
  revoke(token: string): Promise<{ provider: string; kind: string; client: string }>
}
