/** Conditions on exchanges with providers. `*` in `host` and `path` stands for any characters. */
export interface Criteria {
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  /** The client ID, or at Firebase the project. */
  client?: string | undefined
  /** The status, such as `401`, or a class such as `"4xx"`. */
  status?: number | string | undefined
  /** The ID of the sign-in to which the exchange belongs. */
  flow?: string | undefined
  /** `true` selects only refused requests, which have a diagnosis, and `false` only the others. */
  refused?: boolean | undefined
}

/** An expectation: at least one request matches, or as many as `times`, `atLeast` and `atMost` say. */
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
  /** The ID of the exchange that made the daemon send this request itself. */
  parent?: string
  time: string
  durationMilliseconds: number
  host?: string
  path: string
  method: string
  client?: string
  status: number
  /** The reason why the request was refused. */
  diagnosis?: string
  /** A note about something unexpected in a successful answer. */
  note?: string
  /**
   * The source that shows that the provider answers in this way. For `chosen`, `source` is the reason for the choice.
   */
  evidence?: { kind: 'documented' | 'recorded' | 'specified' | 'reported' | 'chosen'; source: string; date?: string }
  /** The ordered fault that took effect. */
  fault?: string
  request: RecordedMessage & { target: string }
  response: RecordedMessage & { disconnected?: 'beforeHeaders' | 'midBody' }
  /** The JSON Web Tokens in the exchange, decoded. */
  tokens?: { place: string; header: Record<string, unknown>; claims: Record<string, unknown>; signed: boolean }[]
  [member: string]: unknown
}

/** Conditions on sign-ins. */
export interface SignInFilter {
  /** `true` selects only sign-ins that a refusal, the person or a fault stopped, and `false` only the others. */
  refused?: boolean | undefined
  /** `true` selects only unfinished sign-ins, and `false` only finished ones. */
  unfinished?: boolean | undefined
  /** The name of a provider that took part, such as `apple`. */
  provider?: string | undefined
  /** A part of the client ID. */
  client?: string | undefined
  /** A text, in upper or lower case, that the diagnosis, the person, the client or an ID contains. */
  text?: string | undefined
  /** `true` also selects entries that only requested a key set or a discovery document. */
  all?: boolean | undefined
}

/** A sign-in: its requests, who signed in, and how it ended. docs/recording.md says more. */
export interface SignIn {
  /** The ID of the sign-in, which is that of its first request. */
  id: string
  /** The name of the sign-in, such as "Apple web sign-in". */
  name: string
  ending: 'signedIn' | 'refused' | 'cancelled' | 'faulted' | 'unfinished' | 'answered' | 'signedOut'
  /** The reason why it failed. */
  diagnosis?: string
  /** The request that failed. */
  stoppedBy?: string
  /** A sentence that says what an unfinished sign-in waits for. */
  hint?: string
  providers: string[]
  /** The client ID, or at Firebase the project. */
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
  /** The ID of the request that made the daemon send this one itself. */
  parent?: string
  time: string
  durationMilliseconds: number
  from: string
  to: string
  /** The purpose of the request, such as "redeem code". */
  does: string
  method: string
  host?: string
  path: string
  status: number
  /** A short description of the answer, such as "302 code". */
  answer: string
  diagnosis?: string
  note?: string
  fault?: string
}

/** The header and the body of a request or an answer. A body that isn't text is in `bodyBase64`. */
export interface RecordedMessage {
  headers: { name: string; value: string }[]
  body?: string
  bodyBase64?: string
}
