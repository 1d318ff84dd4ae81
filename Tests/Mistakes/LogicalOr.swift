// Two truth values that are still to come are joined by `||`.
// warning: combine both futures for a logical or
import Properations

private func mistake(_ isCached: Future<Bool>, _ isOnline: Future<Bool>) -> Future<Bool> {
  isCached || isOnline
}
