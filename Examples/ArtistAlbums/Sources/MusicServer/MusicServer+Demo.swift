import Foundation

extension MusicServer {
  /// Starts a server with some artists, which is now and then busy or silent.
  public static func demo() async throws -> MusicServer {
    try await MusicServer(
      documents,
      faults: [
        "/artists/keepers": [.busy(status: 503, retryAfter: "1")],
        "/albums/keepers/3": [.silent],
        "/covers/keepers/2": [.busy(status: 429, retryAfter: "1")],
        "/covers/keepers/5": [.busy(status: 503, retryAfter: nil)],
      ],
      delay: .milliseconds(200))
  }

  /// The paths of the artists, by the name that a user types.
  public static let artists = ["keepers", "foxes", "quiet", "garbled"]

  private static var documents: [String: Document] {
    var documents = ["/artists/garbled": Document("{ \"name\": \"Gar")]
    add("quiet", "The Quiet", [], to: &documents)
    add("foxes", "🦊 Fox & Føx 🎻", [("夜の狐", 2019), ("🌈🌈🌈", 2023)], to: &documents)
    add(
      "keepers", "The Lighthouse Keepers",
      [
        ("Fog Signal", 1998), ("Two Short, One Long", 2001), ("Lamp Oil", 2003),
        ("The Keeper's Daughter and Other Songs of the Western Approaches", 2006),
        ("Storm Glass", 2010), ("Fresnel", 2014), ("Automation", 2019), ("Dark Again", 2024),
      ], to: &documents)
    // The server has lost this cover.
    documents["/covers/keepers/7"] = nil
    return documents
  }

  private static func add(
    _ id: String, _ name: String, _ albums: [(title: String, year: Int)],
    to documents: inout [String: Document]
  ) {
    let refs = albums.indices.map { "\"/albums/\(id)/\($0 + 1)\"" }.joined(separator: ", ")
    documents["/artists/\(id)"] = Document("{ \"name\": \"\(name)\", \"albumRefs\": [\(refs)] }")
    for (index, album) in albums.enumerated() {
      let place = "\(id)/\(index + 1)"
      documents["/albums/\(place)"] = Document(
        """
        { "title": "\(album.title)", "year": \(album.year), "coverRef": "/covers/\(place)" }
        """)
      let circles = (1...(20 * (index + 1))).map { "<circle cx='9' cy='9' r='\($0)'/>" }.joined()
      documents["/covers/\(place)"] = Document(
        type: "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'>\(circles)</svg>")
    }
  }
}
