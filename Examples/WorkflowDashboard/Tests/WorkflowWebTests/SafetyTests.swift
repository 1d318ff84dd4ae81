import Foundation
import Properations
import TestSupport
import Testing
import WorkflowWeb

/// Requests that must change nothing.
@Suite("Bad and hostile requests", .timeLimit(.minutes(1)))
struct SafetyTests {
  /// Runs requests against a workflow that is not started, and checks that it stays so.
  private func unchanged(_ body: (Visitor) async throws -> Void) async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow) { _, visitor in
      try await body(visitor)
      #expect(report.approval.isReady)
      #expect(!report.workflow.isPaused)
      // The server still serves.
      let picture = try await visitor.picture(of: "report")
      #expect(picture.tasks.count == 3)
    }
  }

  private static let start = #"{"action":"start"}"#

  @Test(
    "An unknown address is 404",
    arguments: [
      "/nothing", "/api", "/api/", "/api/workflows/", "/api/workflows/other",
      "/api/workflows/report/", "/api/workflows/report/other", "/api/workflows/report/tasks",
      "/api/workflows/report/tasks/9", "/api/workflows/report/tasks/-1",
      "/api/workflows/report/tasks/0.0", "/api/workflows/report/tasks/99999999999999999999999",
      "/api/workflows/report/tasks/0/0", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
      "/Page/index.html", "/api/workflows/%00", "/%", "/%ff%fe", "/api/workflows/report%2Fevents",
      "//api/workflows",
    ])
  func unknown(path: String) async throws {
    try await unchanged { visitor in
      for (method, body) in [("GET", nil), ("POST", Self.start)] {
        let answer = try await Conversation(port: visitor.port)
          .ask(visitor.request(method, path, body: body))
        #expect(answer.status == 404, "\(method) \(path): \(answer.body)")
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.body.contains("\"error\":"))
      }
    }
  }

  @Test(
    "A method that an address does not take is 405",
    arguments: [
      ("PUT", "/api/workflows/report"), ("DELETE", "/api/workflows"), ("POST", "/"),
      ("POST", "/dashboard.js"), ("GET", "/api/workflows/report/tasks/0"),
      ("POST", "/api/workflows/report/events"), ("OPTIONS", "/api/workflows/report"),
    ])
  func methods(method: String, path: String) async throws {
    try await unchanged { visitor in
      let answer = try await Conversation(port: visitor.port)
        .ask(visitor.request(method, path, body: Self.start))
      #expect(answer.status == 405)
    }
  }

  @Test(
    "A body that is not what the address takes is 400",
    arguments: [
      "", "start", "{", "[]", "{}", "null", #"{"action":7}"#, #"{"action":"explode"}"#,
      #"{"action":"start"} trailing"#, "\u{0}", #"{"action":"fulfill"}"#, "[[[[",
    ])
  func malformed(body: String) async throws {
    try await unchanged { visitor in
      // The brackets stand for very many.
      let deep = body == "[[[[" ? String(repeating: "[", count: 60_000) : body
      let answer = try await visitor.post("/api/workflows/report", deep)
      #expect(answer.status == 400, "\(answer.status) \(answer.body)")
    }
  }

  @Test("A body that is too large is 413, and what follows it is not taken for a request")
  func large() async throws {
    try await unchanged { visitor in
      // Inside the body stands a request that would start the workflow.
      let hidden = visitor.request("POST", "/api/workflows/report", body: Self.start)
      for size in [70_000, 3_000_000] {
        let body = String(repeating: hidden, count: size / hidden.count + 1)
        let conversation = try Conversation(port: visitor.port)
        try await conversation.say(
          visitor.request(
            "POST", "/api/workflows/report", ["Content-Length": "\(size)"], body: body))
        let heard = try await conversation.hearAll()
        #expect(heard.hasPrefix("HTTP/1.1 413 ") || heard.isEmpty)
        #expect(heard.components(separatedBy: "HTTP/1.1 ").count <= 2)
      }
    }
  }

  @Test("A body in parts whose length is not told is limited, too")
  func largeInParts() async throws {
    try await unchanged { visitor in
      let conversation = try Conversation(port: visitor.port)
      try await conversation.say(
        visitor.request(
          "POST", "/api/workflows/report",
          ["Content-Length": "", "Transfer-Encoding": "chunked"], body: ""))
      let part = "1000\r\n" + String(repeating: " ", count: 0x1000) + "\r\n"
      for _ in 0..<64 { try await conversation.say(part) }
      let heard = try await conversation.hear { $0.contains("\r\n\r\n") }
      #expect(heard.hasPrefix("HTTP/1.1 413 "))
    }
  }

  @Test("An address that is too long is 400")
  func longAddress() async throws {
    try await unchanged { visitor in
      let path = "/api/workflows?x=" + String(repeating: "x", count: 10_000)
      let answer = try await visitor.get(path)
      #expect(answer.status == 400)
    }
  }

  @Test(
    "What is no request is 400 and ends the connection, and the server goes on",
    arguments: [
      "nonsense¶¶", "nonsense without an end", "GET¶¶", "GET /¶¶", "GET / HTTP/x¶¶",
      "GET / HTTP/1.1¶no header¶¶", "GET / HTTP/1.1¶Name : value¶¶", "EXPLODE / HTTP/1.1¶¶",
      "POST /api/workflows/report HTTP/1.1¶Content-Length: -1¶¶",
      "POST /api/workflows/report HTTP/1.1¶Content-Length: 1e9¶¶",
      "POST / HTTP/1.1¶Content-Length: 1¶Transfer-Encoding: chunked¶¶",
      "\u{16}\u{3}\u{1}\u{2}", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}¶¶",
    ])
  func noRequest(text: String) async throws {
    try await unchanged { visitor in
      let conversation = try Conversation(port: visitor.port)
      // Written so that the runner prints each argument in one line.
      try await conversation.say(text.replacingOccurrences(of: "¶", with: "\r\n"))
      // What follows is not taken for a request.
      try await conversation.say(visitor.request("POST", "/api/workflows/report", body: Self.start))
      let heard = try await conversation.hearAll()
      #expect(heard.hasPrefix("HTTP/1.1 400 "), "\(heard)")
      #expect(heard.components(separatedBy: "HTTP/1.1 ").count == 2)
    }
  }

  @Test(
    "A head that is too large is 431 and ends the connection, however it goes on",
    arguments: [
      "GET /BYTES", "GET / HTTP/1.1¶Host: BYTES", "GET / HTTP/1.1¶BYTES",
      "GET / HTTP/1.1¶HEADERS", "GET / HTTP/1.1¶LONG HEADERS",
      "CHANGE IN PARTS0¶HEADERS",
    ])
  func largeHead(text: String) async throws {
    try await unchanged { visitor in
      let line = String(repeating: "x", count: 10_000)
      let change = visitor.request(
        "POST", "/api/workflows/report", ["Content-Length": "", "Transfer-Encoding": "chunked"],
        body: "")
      let large = text.replacingOccurrences(of: "¶", with: "\r\n")
        .replacingOccurrences(of: "CHANGE IN PARTS", with: change)
        .replacingOccurrences(of: "BYTES", with: String(repeating: "x", count: 1_000_000))
        .replacingOccurrences(
          of: "LONG HEADERS", with: String(repeating: "Header: \(line)\r\n", count: 100)
        )
        .replacingOccurrences(
          of: "HEADERS", with: String(repeating: "Header: x\r\n", count: 100_000))
      let conversation = try Conversation(port: visitor.port)
      async let said: Void = conversation.say(large)
      let heard = try await conversation.hearAll()
      #expect(heard.hasPrefix("HTTP/1.1 431 "), "\(heard)")
      #expect(heard.components(separatedBy: "HTTP/1.1 ").count == 2)
      conversation.hangUp()
      try await said
    }
  }

  @Test(
    "A request that does not end is ended, even if there is always another byte",
    arguments: ["GET / HTTP/1.1¶Host: ", "CHANGE"])
  func slow(text: String) async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow, idleLimit: .milliseconds(500)) {
      _, visitor in
      let conversation = try Conversation(port: visitor.port)
      let change = visitor.request(
        "POST", "/api/workflows/report", ["Content-Length": "60000"], body: "")
      try await conversation.say(
        text.replacingOccurrences(of: "¶", with: "\r\n")
          .replacingOccurrences(of: "CHANGE", with: change))
      async let isClosed = conversation.endsInSilence()
      while try await conversation.says("x") { try await Task.sleep(for: .milliseconds(20)) }
      #expect(try await isClosed)
      let picture = try await visitor.picture(of: "report")
      #expect(picture.tasks.count == 3)
    }
  }

  @Test("A body whose parts are no HTTP is 400, and changes nothing")
  func brokenParts() async throws {
    try await unchanged { visitor in
      let conversation = try Conversation(port: visitor.port)
      try await conversation.say(
        visitor.request(
          "POST", "/api/workflows/report",
          ["Content-Length": "", "Transfer-Encoding": "chunked"],
          body: "12\r\n\(Self.start)\r\nnonsense\r\n"))
      let heard = try await conversation.hearAll()
      #expect(heard.hasPrefix("HTTP/1.1 400 "), "\(heard)")
      #expect(heard.components(separatedBy: "HTTP/1.1 ").count == 2)
    }
  }

  @Test(
    "The body of a request that needs none is no request",
    arguments: ["/", "/api/workflows/report", "/nothing"])
  func bodyOfReading(path: String) async throws {
    try await unchanged { visitor in
      let hidden = visitor.request("POST", "/api/workflows/report", body: Self.start)
      let conversation = try Conversation(port: visitor.port)
      try await conversation.say(
        visitor.request(
          "GET", path, ["Content-Length": "\(hidden.utf8.count)", "Connection": "close"],
          body: nil) + hidden)
      let heard = try await conversation.hearAll()
      #expect(heard.components(separatedBy: "HTTP/1.1 ").count == 2)
    }
  }

  @Test("Requests that follow each other on one connection are answered in order")
  func keptAlive() async throws {
    try await unchanged { visitor in
      let conversation = try Conversation(port: visitor.port)
      let first = try await conversation.ask(visitor.request("GET", "/nothing", body: nil))
      #expect(first.status == 404)
      // All at once, and the last one ends the connection.
      try await conversation.say(
        ["/icon.svg", "/api/workflows"].map { visitor.request("GET", $0, body: nil) }.joined()
          + visitor.request("HEAD", "/icon.svg", ["Connection": "close"], body: nil))
      let heard = try await conversation.hearAll()
      let answers = heard.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
      #expect(answers == ["200", "200", "405"])
      // An answer to HEAD has no body.
      #expect(heard.hasSuffix("\r\n\r\n"))
    }
  }

  @Test(
    "A connection that says nothing more for a while is closed, whatever it has said",
    arguments: [
      "", "¶¶", "G", "GET / HTTP/1.1¶Host: ",
      "GET / HTTP/1.1¶Host: 127.0.0.1¶Endless: \u{7}",
      "POST /api/workflows/report HTTP/1.1¶Content-Length: 100¶¶{",
    ])
  func idle(text: String) async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow, idleLimit: .milliseconds(200)) {
      _, visitor in
      let conversation = try Conversation(port: visitor.port)
      // The bell stands for many bytes.
      try await conversation.say(
        text.replacingOccurrences(of: "¶", with: "\r\n")
          .replacingOccurrences(of: "\u{7}", with: String(repeating: "x", count: 2000)))
      let isClosed = try await conversation.endsInSilence()
      #expect(isClosed)
      let picture = try await visitor.picture(of: "report")
      #expect(picture.states["approval"] == "ready")
    }
  }

  @Test("A page that takes nothing of its answers is ended")
  func stalledPage() async throws {
    try await withDashboard(idleLimit: .milliseconds(500)) { _, visitor in
      let stalled = try Conversation(port: visitor.port)
      let request = visitor.request("GET", "/dashboard.js", body: nil)
      let size = try await visitor.get("/dashboard.js").body.utf8.count
      // More than the system keeps for a connection.
      let count = 20_000_000 / size
      async let said: Void = stalled.say(String(repeating: request, count: count))
      // The server reads nothing of this. When it has closed the connection, sending fails.
      while try await stalled.says(" ") { try await Task.sleep(for: .milliseconds(20)) }
      try await said
      let heard = try await stalled.hearAll()
      #expect(heard.utf8.count < count * size)
      let again = try await visitor.get("/dashboard.js")
      #expect(again.body.utf8.count == size)
    }
  }

  @Test("A page that waits for events is not idle, however long nothing happens")
  func quietPage() async throws {
    let report = try Report()
    try await withDashboard(showing: report.workflow, idleLimit: .milliseconds(200)) {
      _, visitor in
      let began = Event()
      async let heard = visitor.events(of: "report") { pictures in
        if !pictures.isEmpty { began.signal() }
        return pictures.last?.run.phase == .finished
      }
      #expect(await began.opened())
      // Both connections began later than that of the page, and are closed one after the other.
      for _ in 0..<2 {
        let isClosed = try await Conversation(port: visitor.port).endsInSilence()
        #expect(isClosed)
      }
      report.workflow.start()
      report.approval.fulfill(with: "Ada")
      let pictures = try await heard.pictures
      #expect(pictures.last?.run.outcome == "finished")
    }
  }

  @Test("The head of a request that does not end keeps no other request waiting")
  func endlessHead() async throws {
    try await unchanged { visitor in
      let conversation = try Conversation(port: visitor.port)
      try await conversation.say("GET /api/workflows/report HTTP/1.1\r\n")
      for number in 0..<200 {
        try await conversation.say("Header-\(number): \(String(repeating: "x", count: 100))\r\n")
        if number % 50 == 0 {
          let picture = try await visitor.picture(of: "report")
          #expect(picture.tasks.count == 3)
        }
      }
    }
  }

  @Test("Another address of this machine refuses connections, unless the program asks for it")
  func otherAddress() async throws {
    try await unchanged { visitor in
      for address in Self.addresses {
        #expect(throws: Conversation.Silence.self, "\(address)") {
          _ = try Conversation(port: visitor.port, at: address)
        }
      }
    }
  }

  /// The IPv4 addresses of this machine that are not the loopback address.
  private static var addresses: [String] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0, let head = first else { return [] }
    defer { freeifaddrs(first) }
    return sequence(first: head, next: \.pointee.ifa_next).compactMap { entry in
      guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == AF_INET else {
        return nil
      }
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let result = getnameinfo(
        address, socklen_t(MemoryLayout<sockaddr_in>.size), &text, socklen_t(text.count), nil, 0,
        NI_NUMERICHOST)
      let name = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
      return result == 0 && !name.hasPrefix("127.") ? name : nil
    }
  }

  @Test(
    "Another host, as after DNS rebinding, is 403",
    arguments: ["evil.example", "evil.example:80", "127.0.0.1", "localhost", "", "127.0.0.1.evil"])
  func host(_ host: String) async throws {
    try await unchanged { visitor in
      let reading = try await visitor.get("/api/workflows/report", ["Host": host])
      #expect(reading.status == 403)
      #expect(!reading.body.contains("approval"))
      let changing = try await visitor.post("/api/workflows/report", Self.start, ["Host": host])
      #expect(changing.status == 403)
    }
  }

  @Test("The name localhost is this machine, too")
  func localhost() async throws {
    try await unchanged { visitor in
      let host = "localhost:\(visitor.port)"
      let answer = try await visitor.get(
        "/api/workflows", ["Host": host, "Origin": "http://\(host)"])
      #expect(answer.status == 200)
    }
  }

  @Test(
    "A request that a page of another origin has caused is 403",
    arguments: [
      ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
      ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
      ["Origin": "https://evil.example", "Sec-Fetch-Site": "none"],
    ])
  func origin(headers: [String: String]) async throws {
    try await unchanged { visitor in
      for path in ["/api/workflows/report", "/api/workflows/report/events", "/dashboard.js"] {
        let answer = try await visitor.get(path, headers)
        #expect(answer.status == 403)
      }
      let answer = try await visitor.post("/api/workflows/report", Self.start, headers)
      #expect(answer.status == 403)
    }
  }

  @Test("A link on another page may open the page, and nothing else")
  func link() async throws {
    try await unchanged { visitor in
      let headers = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"]
      let page = try await visitor.get("/?workflow=report", headers)
      #expect(page.status == 200)
      let data = try await visitor.get("/api/workflows/report", headers)
      #expect(data.status == 403)
    }
  }

  @Test(
    "A change without the token is 401",
    arguments: ["", "Bearer ", "Bearer 0", "Basic Og==", "Bearer TOKEN0", "TOKEN", "bearer TOKEN"])
  func token(authorization: String) async throws {
    try await unchanged { visitor in
      let given = authorization.replacingOccurrences(of: "TOKEN", with: visitor.token)
      for path in ["/api/workflows/report", "/api/workflows/report/tasks/0", "/api/workflows"] {
        let answer = try await visitor.post(path, Self.start, ["Authorization": given])
        #expect(answer.status == 401)
      }
    }
  }

  @Test(
    "A change that a form could send is 415",
    arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
  func type(_ type: String) async throws {
    try await unchanged { visitor in
      let answer = try await visitor.post(
        "/api/workflows/report", Self.start, ["Content-Type": type])
      #expect(answer.status == 415)
    }
  }

  @Test("Every answer forbids scripts from elsewhere, frames and guessing of types")
  func headers() async throws {
    try await unchanged { visitor in
      for path in ["/", "/dashboard.js", "/dashboard.css", "/api/workflows", "/nothing"] {
        let answer = try await visitor.get(path)
        let policy = try #require(answer.headers["content-security-policy"])
        #expect(policy.contains("default-src 'none'"))
        #expect(policy.contains("script-src 'self'"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(answer.headers["x-content-type-options"] == "nosniff")
        #expect(answer.headers["access-control-allow-origin"] == nil)
        #expect(!answer.body.contains(visitor.token))
      }
    }
  }

  @Test("The token of every dashboard is another one")
  func tokens() async throws {
    try await withDashboard { _, first in
      try await withDashboard { _, second in
        #expect(first.token != second.token)
        #expect(first.token.count == 32)
        let answer = try await second.post(
          "/api/workflows", Self.start, ["Authorization": "Bearer \(first.token)"])
        #expect(answer.status == 401)
      }
    }
  }

  @Test("A port that is in use is an error with the port in it")
  func portInUse() async throws {
    try await withDashboard { _, visitor in
      await #expect(throws: Dashboard.CannotListen.self) {
        _ = try await Dashboard(port: visitor.port)
      }
    }
  }

  @Test("Only this machine is listened to")
  func loopback() async throws {
    try await withDashboard { dashboard, _ in
      #expect(dashboard.url.host == "127.0.0.1")
      #expect(dashboard.url(of: "a b").absoluteString.contains("?workflow=a%20b#token="))
    }
  }
}
