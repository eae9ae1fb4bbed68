/* Votes, restarts, emptied masters, resynchronisation (resync.go, restore.go; design §5).  Safety only.
 *
 * One key, N masters, NP proxies that resynchronise.  Asserted: two clients never hold the lock at once.
 *
 * Abstractions, each allowing at least what the code can do:
 *  - A (1) and B (2) are the tokens whose overlap is looked for.  Both are granted at least once and may be extended.  Every other attempt
 *    (failed, released, undone, late) is the noise value Z (3): it appears on any free master and vanishes from any master at any time.
 *  - A late SET NX of A or B lands on any free master at any time after its start.  An earlier failed attempt with the same token leaves a
 *    copy there whose undo, which names its expiry, comes at any time (LEFT); undo.pml has that in detail.
 *  - There is no order between messages.  A crash kills what is on its connections.  Votes given before stay countable for ever: the reply
 *    may already be in the proxy.
 *  - A tick may happen at any moment.  It is the only upper bound (a grant is at most SL ticks after its first send) and the only lower
 *    bound (a resync waits for more than OPW ticks).  Anything else may be delayed for ever, so proxies that are paused or notice nothing
 *    are included.  The wait counts from the loss: no proxy can notice earlier.  TTLs are padded by SL+1: the 1 is for events within a tick.
 *  - Who may vote is one state per master: an admission is good for all proxies (records.pml has the records).  A proxy that learns of it
 *    late sends less, which is a reply that never comes.  A proxy that has begun to resynchronise goes on although another one has admitted
 *    the master, and its late copies land there.
 *  - A resync reads whole masters, the model one key.  Keys are independent: no rule looks at two of them.
 *  - Masters are numbered in the order of their first loss: they are interchangeable.  With SYM=1 masters and proxies are kept in order of
 *    what they have instead, which leaves one of many states that are the same but for their numbers.
 *
 * A resync reads as many sources as it needs at least; more can only add to what is copied.  With T < SL+2 no lock
 * outlives a resync and a run shows nothing; T >= 3 is needed to tell the TTLs of sources apart.
 */
#ifndef N
#define N 3            /* masters */
#endif
#define Q (N/2+1)
#ifndef NP
#define NP 2           /* proxies that resynchronise */
#endif
#ifndef T
#define T 2            /* the client's TTL, in ticks */
#endif
#ifndef SL
#define SL 0           /* slack: how late a grant may be, in ticks */
#endif
#ifndef CR
#define CR 1           /* crashes and FLUSHALLs, together */
#endif
#ifndef FLUSH
#define FLUSH 1        /* 0: crashes only */
#endif
#ifndef LEFT
#define LEFT 1         /* 1: failed attempts with the tokens of A and B, and their undo */
#endif
#ifndef SYM
#define SYM 0          /* 1: masters that were never lost are kept in order */
#endif
#ifndef EXT
#define EXT 1          /* 1: A and B are extended */
#endif

/* The rules.  Each may be switched off, with -DRULE=0. */
#ifndef PAD
#define PAD (SL+1)     /* masters keep copies longer than the client's TTL */
#endif
#ifndef GEN
#define GEN 1          /* a vote counts only from the connection it was asked on */
#endif
#ifndef RECORD
#define RECORD 1       /* a vote counts only if the record is there at the end of its batch */
#endif
#ifndef QUARANTINE
#define QUARANTINE 1   /* a master that lost its data does not vote */
#endif
#ifndef WAIT
#define WAIT 1         /* rounds that counted its old votes have ended before a resync begins */
#endif
#ifndef SOURCES
#define SOURCES (N-Q+1)
#endif
#ifndef VOTING
#define VOTING 1       /* sources vote */
#endif
#ifndef VOUCH
#define VOUCH 1        /* the record of a source is still there after it was read */
#endif
#ifndef SOURCEGEN
#define SOURCEGEN 1    /* a source is read on one connection: a scan does not go on over the next one */
#endif
#ifndef TARGETGEN
#define TARGETGEN 1    /* the target is the same incarnation from the first scan to the admission */
#endif
#ifndef COLLECT
#define COLLECT 1      /* copy only after all scans */
#endif
#ifndef LARGEST
#define LARGEST 1      /* the largest TTL among the sources, not the first one found */
#endif
#ifndef RAISE
#define RAISE 1        /* the same value on the target with a shorter TTL: it is raised */
#endif
#ifndef APART
#define APART 1        /* … and made another copy than the one that an undo may be looking for */
#endif
#ifndef DISPUTED
#define DISPUTED 1     /* sources that disagree are read again, not admitted */
#endif
#ifndef OCCUPIED
#define OCCUPIED 1     /* another value on the target: sources are read again, not admitted */
#endif
#ifndef MARKER
#define MARKER 1       /* a key written ahead of all copies is still there when the record is written */
#endif

#define TUP (T+PAD)
#define UNSEEN (!GEN || !RECORD || !SOURCEGEN || !VOUCH)   /* a loss that a proxy has not noticed makes a difference */

#define FREE 0
#define Z 3
#define VOTES 0
#define LOST 1
#define UNNOTICED 2

byte val[N]; byte ttl[N];
byte up[N];                                      /* ticks since the loss, at most SL+1 */
byte st[N];
byte own[N];                                     /* 1: the copy is the one that an undo looks for */
byte ph[2]; byte op[2]; byte age[2]; byte bel[2];/* of A, B: was granted; 1 acquires, 2 extends; since; ticks it is held */
byte vote[2*N];                                  /* 0 none, 1 asked, 2 given */
byte mk[NP*N]; byte bv[NP*N]; byte bt[NP*N];     /* resync by p of m: sources read; value and TTL to copy */
byte emptied[NP*N];                              /* … and the marker is gone */
byte losses = CR; byte first = 0;                /* first: the lowest master that was never lost */
byte i, j, x;                                    /* scratch, 0 between steps */

#define VO(c,m) vote[(c)*N+(m)]
#define MK(p,m) mk[(p)*N+(m)]
#define BV(p,m) bv[(p)*N+(m)]
#define BT(p,m) bt[(p)*N+(m)]
#define EM(p,m) emptied[(p)*N+(m)]
#if N==5
#define BITS(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1)+(((b)>>3)&1)+(((b)>>4)&1))
#define GIVEN(c) ((VO(c,0)==2)+(VO(c,1)==2)+(VO(c,2)==2)+(VO(c,3)==2)+(VO(c,4)==2))
#define POSSIBLE(c) ((VO(c,0)!=0)+(VO(c,1)!=0)+(VO(c,2)!=0)+(VO(c,3)!=0)+(VO(c,4)!=0))
#else
#define BITS(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1))
#define GIVEN(c) ((VO(c,0)==2)+(VO(c,1)==2)+(VO(c,2)==2))
#define POSSIBLE(c) ((VO(c,0)!=0)+(VO(c,1)!=0)+(VO(c,2)!=0))
#endif

/* What a run must have come to, or it shows nothing. */
c_decl {
  extern int printf(const char *, ...);
  static int seen_[16];
  #define REACH(k, what) if (!seen_[k]) { seen_[k] = 1; printf("reached: %s\n", what); }
}

/* In C: what tells masters apart but for their numbers, and the exchange of two of them and of the two proxies.  Any exchange leads to a state
 * that is the same but for numbers, so how good the order is matters to the size of the search only. */
#define COLUMN_(m_) ({ int q_, n_ = 0; for (q_ = 0; q_ < NP*N; q_++) n_ = n_<<1 | ((now.mk[q_]>>(m_))&1); n_; })
#define ROW_(m_) ({ long k_ = 0; int q_; for (q_ = (m_); q_ < NP*N; q_ += N) k_ = k_<<8 | BITS(now.mk[q_])<<5 | now.bv[q_]<<3 | now.bt[q_]<<1 | now.emptied[q_]; k_; })
#define KEY_(m_) ((long)(now.val[m_] | now.ttl[m_]<<2 | now.own[m_]<<6 | now.vote[m_]<<7 | now.vote[N+(m_)]<<9 | now.st[m_]<<11 | now.up[m_]<<13)<<40 | ROW_(m_)<<16 | COLUMN_(m_))
#define SWAP_(v_,a_,b_) { unsigned char t_ = now.v_[a_]; now.v_[a_] = now.v_[b_]; now.v_[b_] = t_; }
#define SWAPROW_(a_,b_) { SWAP_(mk,a_,b_) SWAP_(bv,a_,b_) SWAP_(bt,a_,b_) SWAP_(emptied,a_,b_) }
#define EXCHANGE_(a_,b_) { int q_; SWAP_(val,a_,b_) SWAP_(ttl,a_,b_) SWAP_(own,a_,b_) SWAP_(up,a_,b_) SWAP_(st,a_,b_) SWAP_(vote,a_,b_) SWAP_(vote,N+(a_),N+(b_)) \
  for (q_ = 0; q_ < NP*N; q_++) if (((now.mk[q_]>>(a_)) ^ (now.mk[q_]>>(b_))) & 1) now.mk[q_] ^= 1<<(a_) | 1<<(b_); \
  for (q_ = 0; q_ < NP*N; q_ += N) SWAPROW_(q_+(a_), q_+(b_)) }
#if NP>1
#define DIFFER_(v_) if (!d_) d_ = now.v_[N+r_] - now.v_[r_];
#define PROXIES_ { int d_ = 0, r_; for (r_ = 0; r_ < N && !d_; r_++) { DIFFER_(mk) DIFFER_(bv) DIFFER_(bt) DIFFER_(emptied) } \
  if (d_ < 0) for (r_ = 0; r_ < N; r_++) SWAPROW_(r_, N+r_) }
#else
#define PROXIES_
#endif
#if SYM
#define SORT ; c_code { int a_, b_; PROXIES_ for (a_ = 0; a_ < N-1; a_++) for (b_ = a_+1; b_ < N; b_++) if (KEY_(b_) < KEY_(a_)) EXCHANGE_(a_, b_) PROXIES_ }
#define MAYLOSE(m) 1
#define LOSTFIRST(m) 0
#else
#define SORT
#define MAYLOSE(m) m<=first
#define LOSTFIRST(m) (m==first && first<N-1)
#endif

inline clearop(c) { op[c]=0; age[c]=0; j=0; do :: j<N -> VO(c,j)=0; j++ :: else -> break od; j=0 }
inline feasible(c) { if :: op[c]==2 && POSSIBLE(c)<Q -> clearop(c) :: else fi }
inline clearsync(p,m) { MK(p,m)=0; BV(p,m)=0; BT(p,m)=0; EM(p,m)=0 }

inline start(c,o) {
  op[c]=o; age[c]=0; i=0;
  do :: i<N -> VO(c,i) = ((st[i]==VOTES || ((!GEN || !RECORD) && st[i]==UNNOTICED)) -> 1 : 0); i++ :: else -> break od; i=0;
  feasible(c) }

inline deliver(c,m) {
  if :: op[c]==1 && val[m]==FREE -> val[m]=c+1; ttl[m]=TUP; own[m]=0; VO(c,m)=2
     :: op[c]==2 && val[m]==c+1 -> ttl[m]=TUP; own[m]=0; VO(c,m)=2
     :: else -> VO(c,m)=0
  fi; feasible(c) }

/* What was asked of m and not executed yet will not count. */
inline unask(m) {
  if :: VO(0,m)==1 -> VO(0,m)=0 :: else fi; if :: VO(1,m)==1 -> VO(1,m)=0 :: else fi;
  feasible(0); feasible(1) }

inline lose(m) {
  val[m]=FREE; ttl[m]=0; own[m]=0; losses--;
  if :: LOSTFIRST(m) -> first++ :: else fi }

inline crash(m) {
  lose(m); up[m]=0;
  if :: GEN -> unask(m) :: else fi;
  if :: QUARANTINE && st[m]!=UNNOTICED -> st[m] = ((!GEN || !SOURCEGEN) -> UNNOTICED : LOST) :: else fi;
  i=0; do :: i<NP -> if :: TARGETGEN -> clearsync(i,m) :: else fi; i++ :: else -> break od; i=0 }

/* The connections stay.  A voting master's record is gone; a lost one has none. */
inline flush(m) {
  lose(m);
  if :: RECORD -> unask(m) :: else fi;
  if :: QUARANTINE && st[m]==VOTES -> up[m]=0; st[m] = ((!RECORD || !VOUCH) -> UNNOTICED : LOST) :: else fi;
  i=0; do :: i<NP -> if :: MARKER && (MK(i,m)!=0 || BV(i,m)!=0) -> EM(i,m)=1 :: else fi; i++ :: else -> break od; i=0 }

inline tick() {
  i=0; do :: i<N ->
     if :: ttl[i]>0 -> ttl[i]=ttl[i]-1; if :: ttl[i]==0 -> val[i]=FREE; own[i]=0 :: else fi :: else fi;
     if :: up[i]<=SL -> up[i]=up[i]+1 :: else fi;
     i++ :: else -> break od; i=0;
  if :: bel[0]>0 -> bel[0]=bel[0]-1 :: else fi;
  if :: bel[1]>0 -> bel[1]=bel[1]-1 :: else fi;
  if :: op[0]!=0 -> age[0]=age[0]+1; if :: age[0]>SL -> clearop(0) :: else fi :: else fi;
  if :: op[1]!=0 -> age[1]=age[1]+1; if :: age[1]>SL -> clearop(1) :: else fi :: else fi }

inline scan(p,m,s) {
  if :: val[s]==FREE -> MK(p,m)=MK(p,m)|(1<<s)
     :: val[s]!=FREE && BV(p,m)==0 -> BV(p,m)=val[s]; BT(p,m)=ttl[s]; MK(p,m)=MK(p,m)|(1<<s)
     :: val[s]!=FREE && BV(p,m)==val[s] -> MK(p,m)=MK(p,m)|(1<<s);
        if :: ttl[s]>BT(p,m) -> if :: LARGEST -> BT(p,m)=ttl[s]; c_code { REACH(0, "sources with different TTLs") } :: else fi :: else fi
     :: val[s]!=FREE && BV(p,m)!=0 && BV(p,m)!=val[s] ->
        c_code { REACH(1, "sources that disagree") };
        if :: DISPUTED -> x=EM(p,m); clearsync(p,m); EM(p,m)=x; x=0 :: else -> MK(p,m)=MK(p,m)|(1<<s) fi
  fi }

inline copy(p,m) {
  x=BV(p,m);
  if :: val[m]==FREE -> val[m]=x; ttl[m]=BT(p,m); own[m]=0; BV(p,m)=0; BT(p,m)=0; if :: x!=Z -> c_code { REACH(2, "a lock is copied") } :: else fi
     :: val[m]==x ->
        if :: RAISE && ttl[m]<BT(p,m) -> ttl[m]=BT(p,m); own[m]=0; c_code { REACH(3, "the TTL of a copy is raised") } :: else fi;
        if :: APART && own[m] -> own[m]=0; c_code { REACH(4, "a copy is saved from an undo") } :: else fi;
        BV(p,m)=0; BT(p,m)=0
     :: else -> c_code { REACH(5, "a target that holds another value") };
        if :: OCCUPIED -> x=EM(p,m); clearsync(p,m); EM(p,m)=x :: else -> BV(p,m)=0; BT(p,m)=0 fi
  fi; x=0 }

inline admit(p,m) {
  if :: EM(p,m) -> c_code { REACH(6, "a missing marker") } 
     :: else -> st[m]=VOTES; c_code { REACH(7, "a master votes again") }
  fi; clearsync(p,m) }

inline grant(c) {
  if :: bel[1-c]==0 && ph[1-c]==1 && losses<CR -> c_code { REACH(8, "a second lock after a loss") } :: else fi;
  if :: op[c]==2 && losses<CR -> c_code { REACH(9, "an extend after a loss") } :: else fi;
  clearop(c); ph[c]=1; bel[c]=T; assert(!(bel[0]>0 && bel[1]>0)) }

#if VOTING==0
#define SOURCE(s) (st[s]!=UNNOTICED)
#elif SOURCEGEN==0 || VOUCH==0
#define SOURCE(s) (st[s]==VOTES || st[s]==UNNOTICED)
#else
#define SOURCE(s) (st[s]==VOTES)
#endif
#define LATE(c,m) (op[c]==1 && VO(c,m)==1 && POSSIBLE(c)<=Q)      /* without m the acquire fails: noise */

#define A_START(c)    :: d_step { op[c]==0 && ph[c]==0 && (c==0 || ph[0]!=0 || op[0]!=0) -> start(c,1); printf("ACT %c acquires\n",'A'+c) SORT } \
                      :: d_step { op[c]==0 && ph[c]==1 && EXT -> start(c,2); printf("ACT %c extends\n",'A'+c) SORT }
#define A_DELIVER(c,m):: d_step { VO(c,m)==1 && (op[c]==2 || val[m]==FREE || POSSIBLE(c)>Q) -> deliver(c,m); printf("ACT %c reaches master %d, which holds %d for %d\n",'A'+c,m,val[m],ttl[m]) SORT }
#define A_LATE(c,m)   :: d_step { val[m]==FREE && (op[c]!=0 || ph[c]!=0) -> val[m]=c+1; ttl[m]=TUP; own[m]=0; printf("ACT late SET of %c on master %d\n",'A'+c,m) SORT }
#define A_LEFT(c,m)   :: d_step { LEFT && val[m]==FREE && (op[c]!=0 || ph[c]!=0) -> val[m]=c+1; ttl[m]=TUP; own[m]=1; printf("ACT failed attempt with the token of %c on master %d\n",'A'+c,m) SORT }
#define A_UNDO(m)     :: d_step { LEFT && own[m] -> val[m]=FREE; ttl[m]=0; own[m]=0; printf("ACT its undo on master %d\n",m) SORT }
#define A_GRANT(c)    :: d_step { op[c]!=0 && GIVEN(c)>=Q -> printf("ACT %c is granted (%d)\n",'A'+c,op[c]); grant(c) SORT }
#define A_CRASH(m)    :: d_step { losses>0 && MAYLOSE(m) && !LATE(0,m) && !LATE(1,m) -> printf("ACT master %d crashes\n",m); crash(m) SORT }
#define A_FLUSH(m)    :: d_step { FLUSH && losses>0 && MAYLOSE(m) && !LATE(0,m) && !LATE(1,m) -> printf("ACT master %d is emptied\n",m); flush(m) SORT }
#define A_NOISE(m)    :: d_step { val[m]==FREE -> val[m]=Z; printf("ACT noise on master %d\n",m) SORT } \
                      :: d_step { val[m]==Z -> val[m]=FREE; ttl[m]=0; printf("ACT noise gone from master %d\n",m) SORT }
#define A_NOTICE(m)   :: d_step { UNSEEN && st[m]==UNNOTICED -> st[m]=LOST; unask(m); printf("ACT loss of master %d is noticed\n",m) SORT }
#define A_SCAN(p,m,s) :: d_step { m!=s && (st[m]==LOST || MK(p,m)!=0) && (!WAIT || up[m]>SL) && !((MK(p,m)>>s)&1) && BITS(MK(p,m))<SOURCES && (COLLECT || BV(p,m)==0) && SOURCE(s) -> scan(p,m,s); printf("ACT proxy %d reads master %d for %d: %d for %d\n",p,s,m,val[s],ttl[s]) SORT }
#define A_COPY(p,m)   :: d_step { BV(p,m)!=0 && (!COLLECT || BITS(MK(p,m))>=SOURCES) -> copy(p,m); printf("ACT proxy %d copies to master %d, which holds %d for %d\n",p,m,val[m],ttl[m]) SORT }
#define A_ADMIT(p,m)  :: d_step { st[m]==LOST && BITS(MK(p,m))>=SOURCES && BV(p,m)==0 -> admit(p,m); printf("ACT proxy %d admits master %d: %d\n",p,m,st[m]) SORT }

#define PER_M(m)  A_DELIVER(0,m) A_DELIVER(1,m) A_LATE(0,m) A_LATE(1,m) A_LEFT(0,m) A_LEFT(1,m) A_UNDO(m) A_CRASH(m) A_FLUSH(m) A_NOISE(m) A_NOTICE(m)
#define PER_PM(p,m) A_ADMIT(p,m) A_COPY(p,m) A_SCAN(p,m,0) A_SCAN(p,m,1) A_SCAN(p,m,2)

active proctype Run() {
  d_step { i=0; do :: i<N -> up[i]=SL+1; i++ :: else -> break od; i=0 }
  do
  A_GRANT(0) A_GRANT(1) A_START(0) A_START(1)
  PER_M(0) PER_M(1) PER_M(2)
  PER_PM(0,0) PER_PM(0,1) PER_PM(0,2)
#if NP>1
  PER_PM(1,0) PER_PM(1,1) PER_PM(1,2)
#endif
#if N==5
  PER_M(3) PER_M(4)
  PER_PM(0,3) PER_PM(0,4)
  A_SCAN(0,0,3) A_SCAN(0,1,3) A_SCAN(0,2,3) A_SCAN(0,4,3) A_SCAN(0,0,4) A_SCAN(0,1,4) A_SCAN(0,2,4) A_SCAN(0,3,4)
#if NP>1
  PER_PM(1,3) PER_PM(1,4)
  A_SCAN(1,0,3) A_SCAN(1,1,3) A_SCAN(1,2,3) A_SCAN(1,4,3) A_SCAN(1,0,4) A_SCAN(1,1,4) A_SCAN(1,2,4) A_SCAN(1,3,4)
#endif
#endif
  :: d_step { !(op[0]==1 && age[0]==SL) && !(op[1]==1 && age[1]==SL) -> tick(); printf("ACT tick: masters hold %d %d %d for %d %d %d, clients %d %d\n",val[0],val[1],val[2],ttl[0],ttl[1],ttl[2],bel[0],bel[1]) SORT }
  od
}
