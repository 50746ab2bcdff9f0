import type { Duration } from './duration.js'
import type { Tampering } from './tokens.js'

/** What the next matching authorization does, without a page. */
export interface OutcomeDetails {
  /** Which client's; any by default. */
  client?: string | undefined
  /** Who signs in. */
  account?: string | undefined
  /** The error's name, with `"error"`. */
  error?: string | undefined
  /** What the person chooses on the page: to share the address, the name as edited, the scopes that are granted. */
  shareEmail?: boolean | undefined
  name?: { given?: string; family?: string } | undefined
  scopes?: string[] | undefined
  /** How many authorizations it holds for: 1 by default; `null` or `Infinity` is for ever. */
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

/** Which requests, or which mail (`smtp`), something goes wrong at. What is left out matches everything. */
export interface FaultMatch {
  /** The provider's host; `*` stands for any characters, in `path`, too. */
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  client?: string | undefined
  /** Whose ID tokens the endpoint gives out. */
  tokensOf?: string | undefined
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string> | undefined
  smtp?: 'CONNECT' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'MESSAGE' | undefined
  from?: string | undefined
  to?: string | undefined
}

/** What happens. docs/orders.md says at which endpoints. */
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
  /** What is broken in tokens that are minted. */
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

/** What goes wrong, where, and how often. */
export interface FaultOrder extends FaultMatch, FaultEffect {
  /** How many matching requests go by first. */
  after?: number | undefined
  /** How many requests it holds for: 1 by default; `null` or `Infinity` is for ever. */
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
