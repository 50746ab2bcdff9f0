import type { Duration } from './duration.js'

/**
 * Conditions on messages. `*` in an address stands for any characters. `subject` and `text` may be parts, in any case.
 */
export interface MailFilter {
  to?: string | undefined
  from?: string | undefined
  subject?: string | undefined
  text?: string | undefined
  kind?: 'mail' | 'text' | undefined
  /** The ID of a message. Only later messages are returned. */
  after?: string | undefined
  /** The maximum number of messages. It keeps the latest ones, or with `after` the next ones. */
  limit?: number | undefined
}

/** A mail or a text message. docs/mail.md lists all members. */
export interface Message {
  id: string
  kind: 'mail' | 'text'
  from: string
  to: string
  subject?: string
  text?: string
  html?: string
  links: string[]
  codes: string[]
  time: string
  envelope: { from: string; to: string[] }
  cc?: string[]
  headers?: { name: string; value: string }[]
  attachments?: { name?: string; type: string; size: number; contentId?: string; url?: string }[]
  relay?: { address: string; forwardedTo?: string; sender?: string; refusal?: string; reason?: string } & Record<string, unknown>
  /** The ID of the recorded request that sent the message. */
  request?: string
  [member: string]: unknown
}

/** A mail to send. If it has both `text` and `html`, they are alternatives. */
export interface OutgoingMail {
  from: string
  to: string | string[]
  cc?: string | string[] | undefined
  replyTo?: string | undefined
  subject?: string | undefined
  text?: string | undefined
  html?: string | undefined
}

/** The reply that an SMTP client would have got, and the messages that are in the inbox now. */
export interface SentMail {
  smtp: { code: number; status?: string; text?: string }
  messages: Message[]
  refused?: Record<string, unknown>[]
}
