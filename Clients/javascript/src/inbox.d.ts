import type { Duration } from './duration.js'

/** Conditions on messages. `*` stands for any characters in addresses; `subject` and `text` are contained, in any case. */
export interface MailFilter {
  to?: string | undefined
  from?: string | undefined
  subject?: string | undefined
  text?: string | undefined
  kind?: 'mail' | 'text' | undefined
  /** Only messages after the one with this ID. */
  after?: string | undefined
  /** The latest so many; with `after`, the next so many. */
  limit?: number | undefined
}

/** A mail or a text message. docs/mail.md has all members. */
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
  /** The recording's ID of what sent it. */
  request?: string
  [member: string]: unknown
}

/** A mail to send. With `text` and `html`, they are alternatives. */
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
