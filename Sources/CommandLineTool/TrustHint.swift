/// Instructions to make a platform or a runtime trust a certificate.
struct TrustHint: Sendable {
    let place: String
    let note: String
    /// Makes the shell commands from the certificate's path.
    let commands: @Sendable (String) -> [String]

    private init(_ place: String, _ note: String = "", _ commands: @escaping @Sendable (String) -> [String]) {
        self.place = place
        self.note = note
        self.commands = commands
    }

    /// All instructions. Those for a single command come first, because they change nothing on the machine.
    static let all: [TrustHint] = [
        TrustHint("curl") { ["export CURL_CA_BUNDLE=\($0)"] },
        TrustHint("OpenSSL: Ruby, PHP; and Go on Linux", "in place of the system's own") {
            ["export SSL_CERT_FILE=\($0)"]
        },
        TrustHint("Python, requests and httpx") { ["export REQUESTS_CA_BUNDLE=\($0)", "export SSL_CERT_FILE=\($0)"] },
        TrustHint("Node.js", "beside the built-in ones") { ["export NODE_EXTRA_CA_CERTS=\($0)"] },
        TrustHint("git") { ["export GIT_SSL_CAINFO=\($0)"] },
        TrustHint("Java", "a truststore of its own; the password is changeit") {
            [
                "keytool -importcert -noprompt -alias understudy -file \($0) -keystore understudy.p12 -storetype PKCS12 -storepass changeit",
                "export JAVA_TOOL_OPTIONS=\"-Djavax.net.ssl.trustStore=understudy.p12 -Djavax.net.ssl.trustStorePassword=changeit\"",
            ]
        },
        TrustHint(".NET on Linux", "in place of the system's own") {
            ["export SSL_CERT_FILE=\($0)"]
        },
        TrustHint("Debian, Ubuntu", "the whole machine") {
            [
                "sudo install -m 644 \($0) /usr/local/share/ca-certificates/understudy.crt",
                "sudo update-ca-certificates",
            ]
        },
        TrustHint("Alpine", "the whole machine; as root, with the package ca-certificates") {
            ["install -m 644 \($0) /usr/local/share/ca-certificates/understudy.crt", "update-ca-certificates"]
        },
        TrustHint("macOS", "the login keychain") {
            ["security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db \($0)"]
        },
        TrustHint("iOS simulator", "the one that is booted") { ["xcrun simctl keychain booted add-root-cert \($0)"] },
        TrustHint(
            "Android emulator", "then Settings, Security, Install a certificate; the app must trust users' authorities"
        ) {
            ["adb push \($0) /sdcard/Download/understudy-ca.crt"]
        },
        TrustHint("Chromium and Chrome on Linux", "needs the package libnss3-tools") {
            [
                "mkdir -p $HOME/.pki/nssdb",
                "[ -e $HOME/.pki/nssdb/cert9.db ] || certutil -d sql:$HOME/.pki/nssdb -N --empty-password",
                "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n understudy -i \($0)",
            ]
        },
        TrustHint("Firefox on Linux", "every profile; needs the package libnss3-tools") {
            [
                "for store in $HOME/.mozilla/firefox/*/cert9.db; do certutil -d sql:${store%/cert9.db} -A -t C,, -n understudy -i \($0); done"
            ]
        },
    ]
}
