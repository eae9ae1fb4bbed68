// Package resp is the language of Redis clients: how their bytes become
// commands, what the commands for locks ask of a quorum of masters, and how
// the answers are written, in RESP2 or RESP3.
//
// The way of a command through the package:
//
//	guarded := resp.Listen(ln, resp.DefaultLimits()) // its connections are Guards
//	cmds, err := guard.ReadCommands()                // whole, valid commands that came at once
//
//	errText := env.Recognise(&lock, cmds[0].Args, db) // for each; fills lock.Swaps
//	// … a redlock.Quorum decides each swap; the outcomes are outs …
//	reply, more := lock.Reply(reply, proto, outs, &again)
//
// The rules a reader needs:
//
//   - Bytes are checked before they are parsed. A [Guard] finds where commands
//     end and applies the [Limits]; redcon's parser sees nothing else. What a
//     client can make us hold or compute grows with what it has sent, never
//     with what it has announced.
//   - A command means what it means in Redis, to the text of its errors, or it
//     is refused with the reason and nothing is sent. The exceptions serve one
//     promise, that no lock stays forever: see [Env.DefaultTTL].
//   - Plain commands and scripts become the same thing, a [redlock.Swap] that
//     says what to do in each case, with a reply for each case. A [Lock] whose
//     reply depends on more than the case has a leaf redlock.Learn, and asks
//     for a second swap when it has seen the state.
//   - Scripts are known by what they do, not by their text: [Scripts] runs them
//     on a model of their key, within fixed bounds of steps, memory and reply.
//     One that does the same whatever its arguments are is understood once, when
//     it is loaded (script_template.go); every other is run for each call.
//     A list that a script only writes, to wake up waiters, is not kept; there
//     is no way to read one, so waiters poll (script_list.go has the rules).
//   - The arguments of a command are slices of what was read, and belong to the
//     command: who recognises it must not modify them again, for they go to the
//     masters as they are. Tokens and keys are any bytes, empty ones too.
//   - The Append functions write replies. They append and return, like append.
//
// The package opens no connections to masters, keeps no order between commands
// and decides no votes: package redlock votes, package proxy serves. It never
// logs; what clients send stays out of its error values, except where Redis
// quotes it.
package resp
