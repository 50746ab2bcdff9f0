/** A person, with the members of an account in a seed. docs/seed.md lists all members. */
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
  /** Lists all people, or at most `limit` of them. With `after`, the list begins after the person with that ID. */
  list(page?: { limit?: number | undefined; after?: string | undefined }): Promise<Account[]>
  /** Returns the person with this ID. */
  get(id: string): Promise<Account>
  /** Adds a person. */
  add(account: Account): Promise<Account>
  /**
   * Changes a person by a JSON Merge Patch. Its members replace those of the person, and `null` sets a default again.
   */
  change(id: string, patch: Record<string, unknown>): Promise<Account>
  /** Removes a person, and everything that the providers have stored about them. */
  remove(id: string): Promise<void>
}
