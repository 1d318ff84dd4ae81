import ExampleSupport
import Foundation
import Properations

/// Why a file was not ingested.
struct Problem: Error, Hashable, LocalizedError {
  let file: String
  let message: String
  /// Whether it may well be gone in a moment.
  let isTransient: Bool

  init(_ file: String, _ message: String, isTransient: Bool = false) {
    self.file = file
    self.message = message
    self.isTransient = isTransient
  }

  init(_ file: String, _ error: SystemError) {
    self.init(file, "\(error)", isTransient: error.isTransient)
  }

  init(changed file: String) {
    self.init(file, "changed while it was read", isTransient: true)
  }

  /// Anything else that can go wrong with a file.
  init(_ file: String, _ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as SystemError: self.init(file, error)
    case ProducerTaskError.conditionsFailure(let errors) where !errors.isEmpty:
      self.init(file, errors[0])
    case ProducerTaskError.timedOut(let limit):
      self.init(file, "not read after \(limit)")
    default:
      // Foundation's sentences do not say more than the system's.
      if let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? POSIXError {
        self.init(file, SystemError(code: cause.code.rawValue))
      } else {
        self.init(file, error.localizedDescription)
      }
    }
  }

  var errorDescription: String? { "\(file): \(message)" }
}
