import Control
import EmulatorCore
import HTTPServer
import JOSE

// /_understudy/inbox/ID/html: what a mail says as HTML, for the frame on its page.

extension Inspector {
    /// The mail's HTML is a stranger's. The frame's own policy holds wherever the address is opened, also by itself: no script, no
    /// form, nothing from elsewhere, so that opening a mail tells nobody. Styles and pictures that are part of the mail are shown.
    /// `sandbox` without permissions makes it a document of no origin, which doesn't go elsewhere by itself.
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

/// The HTML of a mail as the frame shows it.
struct MailHTML {
    private let html: [UInt8]
    private let images: [String: (type: String, bytes: [UInt8])]

    /// How long it may become by the images in it, in bytes.
    private static let limit = 24 << 20

    init(_ html: String, images: [String: (type: String, bytes: [UInt8])]) {
        self.html = Array(html.utf8)
        self.images = images
    }

    var document: String {
        // Links would open within the frame, where nothing can be done. As new windows, which a sandbox forbids, they don't open.
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

    /// Elements of a document's head that make a browser look names up and open connections (`preconnect`), which no policy
    /// forbids, or that change what was said above. Nothing else begins with their names that a mail needs.
    private static let forbidden = ["link", "meta", "base"].map { Array($0.utf8) }

    private func isForbidden(at place: Int) -> Bool {
        let name = html[place...].prefix(4).map { $0 | 0x20 }
        return MailHTML.forbidden.contains(name)
    }

    /// A picture that is part of the mail, `cid:…`, as a data URL, and where its name ends.
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
