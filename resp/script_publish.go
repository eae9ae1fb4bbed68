package resp

// Publication is a message that a script or a transaction publishes.
type Publication struct {
	Channel, Payload []byte
}

// maxPublications bounds how many messages one run publishes: each goes to
// every master.
const maxPublications = 256

// Publications are the messages that the command publishes, as the last Reply
// shows it. They are to be sent when that reply holds, and not before: somebody
// who is woken up too early finds the lock still held, and sleeps for as long as
// it may last. They must not be modified.
func (l *Lock) Publications() []Publication { return l.plan.published }

// scriptPublish notes a message. As in Redis a script that must not write must
// not publish either.
//
// How many receive it is asked once per script and channel, so that all runs of
// one EVAL see the same.
func scriptPublish(m *luaMachine, args [][]byte) (luaValue, error) {
	channel, payload := args[1], args[2]
	if len(m.published) == maxPublications {
		return luaValue{}, m.refuse("publishes more than %d messages", maxPublications)
	}
	if err := m.charge(costTable + len(channel) + len(payload)); err != nil {
		return luaValue{}, err
	}
	m.published = append(m.published, Publication{channel, payload})
	return luaNum(float64(m.receivers(channel))), m.step(1)
}

// receivers is what PUBLISH returns.
func (m *luaMachine) receivers(channel []byte) int64 {
	if m.env.Receivers == nil {
		return 0
	}
	n, asked := m.heard[string(channel)]
	if !asked {
		if m.heard == nil {
			m.heard = map[string]int64{}
		}
		n = m.env.Receivers(channel)
		m.heard[string(channel)] = n
	}
	return n
}
