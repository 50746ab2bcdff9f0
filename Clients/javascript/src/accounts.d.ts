/** A person, as a seed writes one. docs/seed.md has all members. */
export interface Account {
  id: string
  name?: { given?: string; family?: string }
  email?: string
  emailVerified?: boolean
  phoneNumber?: string
  /** The providers' own data about the person: `apple`, `github`, `google`, `facebook`, `microsoft`, `openid`. */
  [member: string]: unknown
}

/** The people of a world. */
export interface Accounts {
  /** All of them, or `limit`, after the one with the ID `after`. */
  list(page?: { limit?: number | undefined; after?: string | undefined }): Promise<Account[]>
  /** The person with this ID. */
  get(id: string): Promise<Account>
  /** Adds a person. */
  add(account: Account): Promise<Account>
  /** A JSON Merge Patch: members replace members, `null` brings a default back. */
  change(id: string, patch: Record<string, unknown>): Promise<Account>
  /** The person goes, and providers forget what was granted. */
  remove(id: string): Promise<void>
}
