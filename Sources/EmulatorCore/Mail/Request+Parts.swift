import HTTPServer
import Text

extension Request {
    /// The fields of a `multipart/form-data` body, without its files; empty for any other type.
    /// <https://datatracker.ietf.org/doc/html/rfc7578>
    package var partsForm: Form {
        guard contentType == "multipart/form-data",
            let boundary = HeaderParameters(header("Content-Type") ?? "").parameters["boundary"], !boundary.isEmpty
        else { return Form(fields: []) }
        let parts = MIMEPart(Array("\r\n".utf8)[...] + body).parts(boundary, limit: RequestBudget.fields + 1)
        return Form(
            fields: parts.compactMap { part in
                let disposition = part.disposition
                guard disposition.value == "form-data", disposition.parameters["filename"] == nil,
                    let name = disposition.parameters["name"]
                else { return nil }
                return Form.Field(name: name, value: String(decoding: part.body, as: UTF8.self).withoutEndlessMarks)
            })
    }
}
