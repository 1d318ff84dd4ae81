import Foundation
import Properations
import Testing

// `Futures.md` shows the chain that `GettingStarted.md` begins with.

enum FirstChain {
  @MainActor
  static func run() {
    download(url)
      .compactMapToValue(on: .global()) { data in Picture(data) }
      .recover { _ in .placeholder }
      .onSuccess { picture in show(picture) }
  }
}
