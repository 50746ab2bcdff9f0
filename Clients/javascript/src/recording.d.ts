/** Conditions on exchanges with providers. `*` stands for any characters in `host` and `path`. */
export interface Criteria {
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  /** The client ID; at Firebase, the project. */
  client?: string | undefined
  /** `401`, or any `"4xx"`. */
  status?: number | string | undefined
  /** The sign-in that it belongs to. */
  flow?: string | undefined
  /** `true`: those with a diagnosis; `false`: the others. */
  refused?: boolean | undefined
}

/** An expectation: matching requests, at least one unless `times`, `atLeast` or `atMost` say otherwise. */
export interface Expectation extends Criteria {
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string> | undefined
  times?: number | undefined
  atLeast?: number | undefined
  atMost?: number | undefined
}

/** An expectation, and the IDs of the exchanges that fit it. */
export interface Verified {
  expected: Expectation
  met: boolean
  found: number
  matched: string[]
  message?: string
  /** The exchanges that nearly match. */
  near?: { id: string; differences: string[] }[]
}

/** A request to a provider and its answer. docs/recording.md says more. */
export interface Exchange {
  id: string
  flow: string
  /** The exchange for which the daemon sent it itself. */
  parent?: string
  time: string
  durationMilliseconds: number
  host?: string
  path: string
  method: string
  client?: string
  status: number
  /** The reason why it was refused. */
  diagnosis?: string
  /** A note on a surprise in a successful answer. */
  note?: string
  /** From where the provider's answer is known; for `chosen`, `source` is the reason. */
  evidence?: { kind: 'documented' | 'recorded' | 'specified' | 'reported' | 'chosen'; source: string; date?: string }
  /** The fault that was ordered. */
  fault?: string
  request: RecordedMessage & { target: string }
  response: RecordedMessage & { disconnected?: 'beforeHeaders' | 'midBody' }
  /** JSON Web Tokens in it, decoded. */
  tokens?: { place: string; header: Record<string, unknown>; claims: Record<string, unknown>; signed: boolean }[]
  [member: string]: unknown
}

/** Conditions on sign-ins. */
export interface SignInFilter {
  /** `true`: those that a refusal, the person or a fault stopped; `false`: the others. */
  refused?: boolean | undefined
  /** `true`: those that aren't finished; `false`: those that are. */
  unfinished?: boolean | undefined
  /** A provider that took part, as in the seed. */
  provider?: string | undefined
  /** A part of the client ID. */
  client?: string | undefined
  /** A text, in any case: of the diagnosis, the person, the client or an ID. */
  text?: string | undefined
  /** `true`: also what only asked for a key set or a discovery document. */
  all?: boolean | undefined
}

/** A sign-in: its requests, who signed in, and how it ended. docs/recording.md says more. */
export interface SignIn {
  /** The ID of its first request. */
  id: string
  /** The name of the sign-in: "Apple web sign-in". */
  name: string
  ending: 'signedIn' | 'refused' | 'cancelled' | 'faulted' | 'unfinished' | 'answered' | 'signedOut'
  /** The reason why it failed. */
  diagnosis?: string
  /** The request that failed. */
  stoppedBy?: string
  /** A sentence about what an unfinished sign-in waits for. */
  hint?: string
  providers: string[]
  /** The client ID; at Firebase, the project. */
  client?: string
  person?: { account?: string; name?: string; email?: string }
  time?: string
  durationMilliseconds: number
  waitingMilliseconds: number
  steps: SignInStep[]
  remarks?: { text: string; request: string; problem: boolean }[]
}

/** A request of a sign-in. */
export interface SignInStep {
  id: string
  /** The request for which the daemon sent it itself. */
  parent?: string
  time: string
  durationMilliseconds: number
  from: string
  to: string
  /** The purpose of the request: "redeem code". */
  does: string
  method: string
  host?: string
  path: string
  status: number
  /** The answer in a few words: "302 code". */
  answer: string
  diagnosis?: string
  note?: string
  fault?: string
}

/** A request's or an answer's header and body; `bodyBase64` where that isn't text. */
export interface RecordedMessage {
  headers: { name: string; value: string }[]
  body?: string
  bodyBase64?: string
}
