import Foundation

/// An artist, as the service describes one.
public struct ArtistProfile: Codable, Sendable {
  /// The name of the artist, in any script.
  public let name: String
  /// The addresses of the albums; they may be relative to the address of the profile.
  public let albumRefs: [URL]
}

/// An album, as the service describes one.
public struct Album: Codable, Sendable {
  /// The title, in any script.
  public let title: String
  /// The year in which the album came out.
  public let year: Int
  /// The address of the cover; it may be relative to the address of the album.
  public let coverRef: URL?
}

/// An artist with all albums and covers.
public struct Discography: Sendable {
  /// An album with its cover.
  public struct Entry: Sendable {
    /// The album, as the service describes it.
    public let album: Album
    /// The cover, or the reason why it is missing; `nil` if the album has none.
    public let cover: Result<Data, any Error>?
  }

  /// The name of the artist.
  public let artist: String
  /// The albums, in the order of the profile.
  public let entries: [Entry]
}
