package resp

import "time"

// Limits bounds what one connection may send. A size that is zero stands for its
// default, so the zero Limits is [DefaultLimits].
type Limits struct {
	MaxArgs    int // arguments of one command
	MaxBulk    int // bytes of one argument
	MaxCommand int // bytes of one command as sent, headers included
	MaxInline  int // bytes of a line: of an inline command, of a length header

	// UnauthArgs and UnauthBulk replace MaxArgs and MaxBulk until
	// [Guard.Authenticated].
	UnauthArgs int
	UnauthBulk int

	// MaxBuffered is how many bytes of whole commands are handed out as one
	// batch. Some command reaches past it, if only a larger one; the next
	// command then begins another batch.
	MaxBuffered int

	// CommandTimeout is how long a client may take to send a command, from its
	// first byte to its last, and to log in, where [Guard.Authenticated] is not
	// called at once. It is measured while there is nothing to read. Zero means
	// as long as it likes.
	CommandTimeout time.Duration

	// Held is called with what a connection's buffers have grown or shrunk by, in
	// bytes; not for each change, but some 16 KiB exact. It must not block.
	Held func(delta int)
}

// DefaultLimits returns limits that no client of locks comes near. The
// largest things such clients send are scripts of some 16 KB and, rarely,
// tokens of 1 MB; the most arguments are those of a DEL or a script that frees
// many keys at once.
//
// MaxArgs is below what Redis allows (1,048,576 until version 6, unlimited
// since) because a parsed argument costs up to 40 bytes of slice headers while
// six bytes on the wire are enough to send one. MaxBulk and MaxCommand are
// below Redis's 512 MB and 1 GB for the same reason: a lock never needs them,
// and a few clients could fill the memory with them.
//
// MaxInline, UnauthArgs and UnauthBulk are Redis's own: the last two came with
// the fix of CVE-2021-32675, where clients that had not logged in filled the
// memory with large headers.
func DefaultLimits() Limits {
	return Limits{
		MaxArgs:     128 << 10,
		MaxBulk:     16 << 20,
		MaxCommand:  32 << 20,
		MaxInline:   64 << 10,
		UnauthArgs:  10,
		UnauthBulk:  16 << 10,
		MaxBuffered: 256 << 10,
	}
}

// OrDefault returns l with the defaults of the sizes that are zero.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits()
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.MaxArgs, d.MaxArgs},
		{&l.MaxBulk, d.MaxBulk},
		{&l.MaxCommand, d.MaxCommand},
		{&l.MaxInline, d.MaxInline},
		{&l.UnauthArgs, d.UnauthArgs},
		{&l.UnauthBulk, d.UnauthBulk},
		{&l.MaxBuffered, d.MaxBuffered},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// bounds are what a framer bounds, and the faults of going past it.
type bounds struct {
	args, bulk, command, line int

	tooManyArgs, tooLongBulk *ProtocolError
}

// policy is the limits of a listener in the form its guards use.
type policy struct {
	before, after bounds // of login
	batch         int
	timeout       time.Duration
	held          func(delta int)
}

// policy returns the policy for l.
func (l Limits) policy() *policy {
	l = l.OrDefault()
	after := bounds{
		args:        l.MaxArgs,
		bulk:        l.MaxBulk,
		command:     l.MaxCommand,
		line:        l.MaxInline,
		tooManyArgs: errArrayLength,
		tooLongBulk: errBulkLength,
	}
	before := after
	before.args, before.tooManyArgs = l.UnauthArgs, errUnauthArrayLength
	before.bulk, before.tooLongBulk = l.UnauthBulk, errUnauthBulkLength
	return &policy{before: before, after: after, batch: l.MaxBuffered, timeout: l.CommandTimeout, held: l.Held}
}
