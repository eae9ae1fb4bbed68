package resp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"

	"redlock-proxy/redlock"
)

// The digest of Redis 8.4: XXH3 with 64 bits, as 16 hexadecimal digits. Masters
// of other versions cannot compute it, so the proxy does, from the value that a
// quorum holds, and commits on exactly that value.

const digestLength = 16

// badDigest is what Redis says, if the key exists, to an operand of IFDEQ or
// IFDNE that cannot be a digest. It looks at the length only.
const badDigest = "ERR digest must be exactly 16 hexadecimal characters"

// digest is DIGEST key.
func (e *Env) digest(l *Lock, args [][]byte) (errText string) {
	l.one(args[1], perCase(answerNull, answerDigest, answerDigest, answerWrongType))
	return ""
}

// digestOf is the digest of a value, in lower case.
func digestOf(value []byte) (d [digestLength]byte) {
	var sum [digestLength / 2]byte
	binary.BigEndian.PutUint64(sum[:], xxh3.Hash(value))
	hex.Encode(d[:], sum[:])
	return d
}

// hasDigest reports whether a value has the digest, written in any case.
func hasDigest(value, digest []byte) bool {
	d := digestOf(value)
	return bytes.EqualFold(d[:], digest)
}

// digestCondition is IFDEQ or IFDNE, and what to do to a string that meets it.
type digestCondition struct {
	digest []byte
	equal  bool // the value has to have the digest; else it must not
	leaf   redlock.Leaf
	met    answer
	unmet  answer
}

// learnDigest is the leaf of a SET that has to know the digest of what is
// there.
func (l *Lock) learnDigest(o *setOptions, over redlock.Leaf) redlock.Leaf {
	switch {
	case over.TTL <= 0:
		over = redlock.Leaf{Effect: redlock.Delete}
	case o.kept:
		over.TTL = redlock.KeepTTL
	}
	c := digestCondition{digest: o.operand, equal: o.when == ifDigest, leaf: over, met: answerOK, unmet: answerNull}
	if o.get {
		c.met, c.unmet = answerValue, answerValue
	}
	return l.learn(c)
}

// deleteByDigest makes l a DELEX of a key.
func (l *Lock) deleteByDigest(key []byte, c digestCondition) {
	s := l.one(key, perCase(answerZero, answerZero, answerZero, answerFault))
	c.leaf, c.met, c.unmet = redlock.Leaf{Effect: redlock.Delete}, answerOne, answerZero
	s.Other = l.learn(c)
}

func (l *Lock) learn(c digestCondition) redlock.Leaf {
	l.MayLearn, l.decide, l.digest = true, (*Lock).ifDigest, &c
	return redlock.Leaf{Effect: redlock.Learn}
}

// ifDigest decides about a string that a quorum holds.
func (l *Lock) ifDigest(out *redlock.Outcome) (redlock.Leaf, answer) {
	c := l.digest
	if len(c.digest) != digestLength {
		l.fault = badDigest
		return redlock.Leaf{}, answerFault
	}
	if hasDigest(l.valueOf(0, out), c.digest) != c.equal {
		return redlock.Leaf{}, c.unmet
	}
	leaf := c.leaf
	if leaf.Effect == redlock.Set && leaf.TTL == redlock.KeepTTL && out.State.TTL == redlock.NoTTL {
		leaf.TTL = l.env.DefaultTTL
	}
	return leaf, c.met
}
