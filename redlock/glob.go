package redlock

// MatchGlob reports whether s matches a pattern of Redis's KEYS and SCAN: '*',
// '?', '[ab-z]', '[^…]', and '\' before a byte that is meant as such. Like
// Redis it takes what it can of a pattern that is not complete, and finds the
// empty string by the empty pattern only, not by '*'. Its time grows with the
// product of the lengths, at most.
func MatchGlob(pattern, s string) bool {
	if s == "" {
		return pattern == ""
	}
	p, i := 0, 0
	star, from := -1, 0 // after the last '*', and where what it leaves begins
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, from = p, i
			continue
		}
		if p < len(pattern) {
			if hit, width := globByte(pattern[p:], s[i]); hit {
				p, i = p+width, i+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, i = star, from
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globByte matches one byte with the beginning of a pattern that is neither
// empty nor a '*', and returns how much of the pattern that is.
func globByte(pattern string, c byte) (hit bool, width int) {
	switch {
	case pattern[0] == '?':
		return true, 1
	case pattern[0] == '[':
		return globClass(pattern, c)
	case pattern[0] == '\\' && len(pattern) > 1:
		return pattern[1] == c, 2
	}
	return pattern[0] == c, 1
}

// globClass is globByte for a pattern that begins with '['. A class without an
// end goes on to the end of the pattern.
func globClass(pattern string, c byte) (hit bool, width int) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		left := len(pattern) - i
		switch {
		case pattern[i] == '\\' && left >= 2:
			i++
			hit = hit || pattern[i] == c
		case left >= 3 && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			hit = hit || low <= c && c <= high
			i += 2
		default:
			hit = hit || pattern[i] == c
		}
	}
	return hit != negated, min(i+1, len(pattern))
}
