import Control
import EmulatorCore
import HTTPServer
import JOSE

// The document /_understudy/inbox/ID/html: a mail's HTML, for the frame on its page.

extension Inspector {
    /// The policy of the frame, because a mail's HTML can't be trusted. It holds wherever the address is opened: no
    /// scripts, no forms, and no requests to elsewhere, so that no sender learns that a mail was opened. Styles and
    /// pictures that are part of the mail are shown. `sandbox` without permissions makes it a document without an
    /// origin, which can't navigate by itself.
    static let framePolicy =
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'self'"

    func messageFrame(_ exchange: Exchange) async -> Response {
        guard let row = messageRow(exchange) else { return missing(exchange) }
        let html = await exchange.world.searchInbox { [control] () -> String? in
            let shown = control.shown(row, in: exchange.world)
            return shown.content.html.map {
                MailHTML($0, images: shown.isMasked ? [:] : row.inlineImages(in: exchange.world)).document
            }
        }
        guard let html else { return missing(exchange) }
        return Response(
            status: 200, contentType: "text/html;charset=UTF-8",
            headers: [
                (name: "Content-Security-Policy", value: Inspector.framePolicy),
                (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
                (name: "Referrer-Policy", value: "no-referrer"), (name: "X-DNS-Prefetch-Control", value: "off"),
                (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
            ], body: html)
    }
}

/// The HTML of a mail, prepared for the frame.
struct MailHTML {
    private let html: [UInt8]
    private let images: [String: (type: String, bytes: [UInt8])]

    /// The greatest number of bytes with the images in it.
    private static let limit = 24 << 20

    init(_ html: String, images: [String: (type: String, bytes: [UInt8])]) {
        self.html = Array(html.utf8)
        self.images = images
    }

    var document: String {
        // Links would open within the frame, where they are of no use. As new windows, which a sandbox forbids, they
        // don't open.
        var output = Array("<!DOCTYPE html>\n<base target=\"_blank\">\n".utf8)
        var place = 0
        while place < html.count {
            let byte = html[place]
            if byte == UInt8(ascii: "<"), isForbidden(at: place + 1) {
                output += Array("<x-".utf8)
                place += 1
            } else if byte | 0x20 == UInt8(ascii: "c"), let (image, end) = image(at: place, output.count) {
                output += image
                place = end
            } else {
                output.append(byte)
                place += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The names of elements in a document's head that make a browser look up names and open connections
    /// (`preconnect`), which no policy forbids, or that change what was set above. A mail needs no other elements whose
    /// names begin so.
    private static let forbidden = ["link", "meta", "base"].map { Array($0.utf8) }

    private func isForbidden(at place: Int) -> Bool {
        let name = html[place...].prefix(4).map { $0 | 0x20 }
        return MailHTML.forbidden.contains(name)
    }

    /// Returns a picture that is part of the mail, `cid:…`, as a data URL, and the index after its name.
    private func image(at place: Int, _ length: Int) -> (url: [UInt8], end: Int)? {
        guard !images.isEmpty, html[place...].prefix(4).map({ $0 | 0x20 }) == Array("cid:".utf8) else { return nil }
        let name = html[(place + 4)...].prefix(256).prefix { byte in
            byte > 0x20 && !"\"'<>()\\".utf8.contains(byte)
        }
        let id = String(decoding: PercentCoding.decode(name, plusIsSpace: false), as: UTF8.self)
        guard let (type, bytes) = images[id], length + bytes.count * 2 < MailHTML.limit else { return nil }
        return (Array("data:\(type);base64,\(Base64.encode(bytes))".utf8), name.endIndex)
    }
}
