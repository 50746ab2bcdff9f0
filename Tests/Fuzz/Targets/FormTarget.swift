import HTTPServer
import JOSE

extension FuzzTarget {
    /// Reads forms, percent-encoding, base64 and request lines, and checks that what is written reads the same.
    static let forms = FuzzTarget("forms") { bytes in
        let form = Form(parsing: bytes)
        let again = Form(parsing: form.encoded)
        try require(
            again.fields.map(\.name) == form.fields.map(\.name)
                && again.fields.map(\.bytes) == form.fields.map(\.bytes),
            "a form that changes when it is written: \(form.encoded)")
        for field in form.fields { _ = (form[field.name], form.repeatedName) }

        let encoded = PercentCoding.encode(bytes)
        try require(
            PercentCoding.decode(Array(encoded.utf8)[...]) == bytes, "percent-encoding loses something: \(encoded)")
        try require(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "base64url loses something")
        try require(Base64.decode(Base64.encode(bytes)) == bytes, "base64 loses something")
        let text = String(decoding: bytes, as: UTF8.self)
        if let decoded = Base64URL.decode(text) {
            try require(Base64URL.decode(Base64URL.encode(decoded)) == decoded, "base64url: \(text)")
        }
        _ = Base64.decode(text)
        _ = Hex.decode(text).map { Hex.encode($0) }

        let request = Request(method: "GET", target: text)
        try require(!request.path.utf8.contains(UInt8(ascii: "?")), "a path with a query: \(request.path)")
        _ = request.queryForm.fields
    }
}
