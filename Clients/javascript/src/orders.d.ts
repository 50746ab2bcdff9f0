import type { Duration } from './duration.js'
import type { Tampering } from './tokens.js'

/** An outcome of the next matching authorization, which then shows no page. */
export interface OutcomeDetails {
  /** The client's ID; by default any client. */
  client?: string | undefined
  /** The ID of the account that signs in. */
  account?: string | undefined
  /** The error's name, with `"error"`. */
  error?: string | undefined
  /** The person's choices on the page: whether to share the address, the edited name, the granted scopes. */
  shareEmail?: boolean | undefined
  name?: { given?: string; family?: string } | undefined
  scopes?: string[] | undefined
  /** The number of authorizations that it decides: 1 by default; `null` or `Infinity` for all. */
  times?: number | null | undefined
}

/** Something that was ordered, as the daemon understood it. */
export interface Ordered {
  id: string
  /** Takes it back. Answers whether it was still waiting: `false` where it has been carried out in full. */
  remove(): Promise<boolean>
}

/** An outcome that is ordered. */
export interface Outcome extends Ordered, OutcomeDetails {
  provider: string
  outcome: 'approve' | 'cancel' | 'error'
}

/** The requests, or the mail (`smtp`), to which a fault applies. A missing member matches everything. */
export interface FaultMatch {
  /** The provider's host; `*` stands for any characters, in `path`, too. */
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  client?: string | undefined
  /** The owner of the ID tokens that the endpoint issues. */
  tokensOf?: string | undefined
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string> | undefined
  smtp?: 'CONNECT' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'MESSAGE' | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The effect of a fault. docs/orders.md lists the endpoints at which it can be ordered. */
export interface FaultEffect {
  /** An answer in place of the endpoint's. */
  status?: number | undefined
  headers?: Record<string, string> | undefined
  body?: unknown
  /** Answers later. */
  delay?: Duration | undefined
  disconnect?: boolean | 'beforeHeaders' | 'midBody' | undefined
  /** The endpoint's own error, in its own form, with a description in place of the usual one. */
  error?: string | undefined
  description?: string | undefined
  /** Members of the JSON answer that are changed; `null` takes one out. */
  response?: Record<string, unknown> | undefined
  /** The way in which minted tokens are broken. */
  token?: Tampering | undefined
  rotateKeys?: boolean | 'keep' | 'drop' | undefined
  jwks?: 'empty' | 'stale' | undefined
  shuffle?: boolean | undefined
  malformedJSON?: boolean | undefined
  state?: 'missing' | 'wrong' | undefined
  code?: 'used' | undefined
  /** For mail: another reply, or a mail that is lost. */
  reply?: { code: number; status?: string; text?: string } | undefined
  lose?: boolean | undefined
}

/** A fault: its effect, its place, and the number of times. */
export interface FaultOrder extends FaultMatch, FaultEffect {
  /** The number of matching requests that are let through first. */
  after?: number | undefined
  /** The number of requests to which it applies: 1 by default; `null` or `Infinity` for all. */
  times?: number | null | undefined
  /** From 0 to 1, drawn from the world's generator. */
  probability?: number | undefined
}

/** A fault that is ordered, how many requests have matched it, and at how many it has taken effect. */
export interface Fault extends Ordered {
  match: FaultMatch
  effect: FaultEffect
  after: number
  times: number | null
  probability: number
  seen: number
  done: number
}
