import CPostgreSQL
import Platform

/// libpq, opened when it is first asked for.
enum PostgreSQLLibrary {
    /// `nil` when it isn't installed, or is older than version 14.
    nonisolated(unsafe) static let functions: UnsafePointer<understudy_libpq>? = understudy_open_libpq()

    static func opened() throws(PostgreSQLError) -> UnsafePointer<understudy_libpq> {
        guard let functions else {
            throw PostgreSQLError(
                .library,
                "libpq isn't installed, or is older than version 14: install it (Debian's libpq5, Homebrew's libpq)")
        }
        return functions
    }
}

/// Where a database is: a URL, as libpq reads it.
/// <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>
package struct PostgreSQLAddress: Sendable {
    let url: String
    /// `HOST:PORT/DATABASE`, as far as the URL says so: for people. There is no secret in it.
    package let title: String
    private let password: String?

    /// Reads a URL. Nothing is connected to yet.
    package init(_ url: String) throws(PostgreSQLError) {
        _ = try PostgreSQLLibrary.opened()
        guard !PostgreSQLAddress.hasBareCharacters(url) else {
            throw PostgreSQLError(
                .address,
                "its user or password has a character that a URL can't have there: write %40 for @, %2F for /, %25 for %"
            )
        }
        var isValid: Int32 = 0
        let option: (String) -> String? = { name in
            guard let found = understudy_libpq_option(url, name, &isValid) else { return nil }
            defer { free(found) }
            return String(cString: found)
        }
        let (host, port, database) = (option("host"), option("port"), option("dbname"))
        guard isValid != 0 else {
            throw PostgreSQLError(.address, "it isn't a URL like postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        }
        self.url = url
        password = option("password").flatMap { $0.isEmpty ? nil : $0 }
        title = (host ?? "localhost") + (port.map { ":\($0)" } ?? "") + (database.map { "/\($0)" } ?? "")
    }

    /// Whether what stands before the host has characters that end it. libpq would take a part of a password for a host, a port or
    /// a database then, which are no secrets.
    private static func hasBareCharacters(_ url: String) -> Bool {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let beforeOptions = rest.prefix { $0 != "?" }
        guard let end = beforeOptions.lastIndex(of: "@") else { return false }
        let user = beforeOptions[..<end]
        return user.contains { "/@".contains($0) }
    }

    /// A message in one line, without the password, should the message quote it.
    func line(_ message: String) -> String {
        var line = message.split(whereSeparator: \.isNewline)
            .map { $0.drop { $0.isWhitespace } }.joined(separator: "; ")
        if let password {
            let parts = line.split(separator: password, omittingEmptySubsequences: false)
            line = parts.joined(separator: "*****")
        }
        return String(line.prefix(500))
    }
}

/// What went wrong with a database.
package struct PostgreSQLError: Error, Equatable, CustomStringConvertible, Sendable {
    package enum Kind: Sendable {
        /// libpq can't be used.
        case library
        /// The URL can't be read.
        case address
        /// There is no connection.
        case unreachable
        /// There was no answer in time. The connection isn't used any more: whether the statements have run isn't known.
        case late
        /// The connection had ended before anything was sent.
        case closed
        /// The connection ended before there was an answer: whether the statements have run isn't known.
        case lost
        /// The server has refused: then none of the statements that were sent together have run, unless one of them was COMMIT.
        case refused
    }

    package let kind: Kind
    /// SQLSTATE, where the server has said one; empty otherwise. <https://www.postgresql.org/docs/current/errcodes-appendix.html>
    package let state: String
    /// In one line. There is no password in it.
    package let message: String

    package init(_ kind: Kind, _ message: String, state: String = "") {
        self.kind = kind
        self.state = state
        self.message = message
    }

    package var description: String { message }
}
