import EmulatorCore
import HTTPServer

extension Form {
    /// The form without empty fields, which count as missing:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-3.1>.
    package var withoutEmptyFields: Form { Form(fields: fields.filter { !$0.bytes.isEmpty }) }

    /// Refuses a field that occurs twice: <https://datatracker.ietf.org/doc/html/rfc6749#section-3.2>. Only resources
    /// and audiences may be repeated (RFC 8707 section 2, RFC 8693 section 2.1).
    func checkRepetitions() throws(OAuthRefusal) {
        let single = fields.filter { $0.name != "resource" && $0.name != "audience" }
        guard let name = Form(fields: single).repeatedName else { return }
        throw OAuthRefusal("invalid_request", Diagnosis("\(Diagnosis.quote(name)) occurs twice: send it once"))
    }

    /// Returns a required field.
    package func required(_ name: String) throws(OAuthRefusal) -> String {
        if let value = self[name], !value.isEmpty { return value }
        throw OAuthRefusal("invalid_request", Diagnosis("\(name) is missing: send it"))
    }
}

extension Request {
    /// Returns the fields of a request to an endpoint that reads forms.
    ///
    /// - Throws: `invalid_request` for a body that isn't a form, and for a field that occurs twice.
    package func parameters() throws(OAuthRefusal) -> Form {
        guard body.isEmpty || contentType == "application/x-www-form-urlencoded" else {
            let type = header("Content-Type").map { Diagnosis.quote($0) } ?? "no Content-Type"
            throw OAuthRefusal(
                "invalid_request",
                Diagnosis(
                    received: hasJSONBody ? "a JSON body" : "a body with \(type)",
                    expected: "application/x-www-form-urlencoded", "send the parameters as a form"))
        }
        let form = bodyForm.withoutEmptyFields
        try form.checkRepetitions()
        return form
    }
}
