export { Understudy } from './understudy.js'
export type { StartOptions } from './understudy.js'
export { World } from './world.js'
export type { Fault, FaultEffect, FaultMatch, FaultOrder, Ordered, Outcome, OutcomeDetails } from './orders.js'
export type { Callback } from './person.js'
export { AppleAuthorizationError, UnderstudyError, VerificationError } from './errors.js'
export { noncePair } from './nonce.js'
export type { NoncePair } from './nonce.js'
export { worldName } from './world-name.js'
export type { Account, Accounts } from './accounts.js'
export type { Clock } from './clock.js'
export type { Duration, Moment } from './duration.js'
export type { MailFilter, Message, OutgoingMail, SentMail } from './inbox.js'
export type {
  Apple, AppleCredential, AppleRequest, AppOfPerson, Facebook, GitHub, Google, Microsoft, NativeRequest, OpenID
} from './providers.js'
export type {
  Criteria, Exchange, Expectation, RecordedMessage, SignIn, SignInFilter, SignInStep, Verified
} from './recording.js'
export type { Scenario, Scenarios } from './scenarios.js'
export type { MintedToken, Tampering, TokenOrder, Tokens } from './tokens.js'
