import TestSupport
import Testing

@Suite("understudy completion")
struct CompletionTests {
    @Test("completions for the shell that is named, or in SHELL")
    func completion() throws {
        let marks = [
            "bash": "complete -o filenames -F", "zsh": "#compdef understudy", "fish": "complete -c 'understudy'",
        ]
        for (shell, mark) in marks {
            let named = try Tool.run("completion", shell)
            #expect(named.output.contains(mark), "\(named.output.suffix(300))")
            #expect(named.output.contains("client-secret"))
            let own = try Tool.run("completion", environment: ["SHELL": "/usr/bin/\(shell)"])
            #expect(own.output == named.output)
        }
        let unknown = try Tool.run("completion", environment: ["SHELL": "/bin/tcsh"])
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("give bash, zsh or fish"))
        let script = try Tool.run("completion", "bash").output
        let asked = try Shell.run(
            "bash",
            [
                "-c",
                "\(script)\nCOMP_LINE='understudy cl' COMP_POINT=13 COMP_WORDS=(understudy cl) COMP_CWORD=1; _understudy understudy cl understudy; echo \"${COMPREPLY[@]}\"",
            ])
        #expect(asked.output.contains("client-secret"), "\(asked)")
    }
}
