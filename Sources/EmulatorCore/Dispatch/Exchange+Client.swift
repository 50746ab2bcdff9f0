import HTTPServer
import JOSE
import JSON

extension Request {
    /// The client that the request names: in its fields, in its credentials, or in the authorization request within a
    /// sign-in page's form.
    package var namedClient: String? { namedClient(jsonBody) }

    /// Returns the client that the request names, for a body that has been parsed as JSON already.
    func namedClient(_ json: @autoclosure () -> JSONValue?) -> String? {
        let query = queryForm
        let body = bodyForm
        for form in [body, query] {
            if let client = form["client_id"] ?? form["app_id"] { return client }
            if let client = form.carriedRequest?["client_id"] { return client }
            if let target = form["return_to"], let mark = target.firstIndex(of: "?"),
                let client = Form(parsing: target[mark...].dropFirst())["client_id"]
            {
                return client
            }
        }
        if let object = json(), let client = object["client_id"]?.string ?? object["client"]?.string {
            return client
        }
        return BasicCredentials.read(self)?.user
    }
}
