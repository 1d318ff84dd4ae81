import Foundation

/// Ends a test that runs in a process of its own, as failed.
func demand(_ isSo: Bool) {
  if !isSo { exit(EXIT_FAILURE) }
}
