/** How a sign-in comes back to the app: the request that the browser makes there. */
export interface Callback {
  /** `POST` where the answer is posted, as Apple's `form_post` is. */
  method: 'GET' | 'POST'
  /** The address, with its query. */
  url: string
  /** The address without scheme, host and fragment, for an app that is asked elsewhere. */
  path: string
  /** What is posted. */
  form: Record<string, string>
  /** What the provider says, by query, fragment or form: `code`, `state`, `error`… */
  fields: Record<string, string>
}
