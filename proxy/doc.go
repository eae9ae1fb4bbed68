// Package proxy is the server that lock clients connect to: it speaks the
// Redis protocol in front and runs lock commands on a [redlock.Quorum] behind.
//
// The rules a reader needs:
//
//   - One goroutine per connection reads. It starts lock commands at once, in
//     the order in which they arrive, and does not wait for them; every other
//     command it answers itself.
//   - Replies leave in the order of the commands, however the operations end.
//     Each command has a [slot] in its connection's line until its reply is in
//     the socket.
//   - Whoever completes the operation at the head of the line writes what is
//     finished, one write for all of it, but never waits for a client. A reply
//     is claimed right before it is written (see [redlock.Quorum.Claim]); what
//     a full socket did not take is claimed again before it is.
//   - One goroutine at a time has the turn to write a connection; nobody holds
//     the session's lock while calling the engine or the socket.
//   - A client that is gone, does not read, or is cut off: what its unanswered
//     commands did is undone.
//
// Only redcon's accept loop and parser are used, both behind the guard of
// package resp; a connection leaves redcon at its first command.
package proxy
