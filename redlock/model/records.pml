/* The records that say who may vote (admission.go, record.go, steward.go, standing.go, wire.go; design §5).  Safety only.
 *
 * N masters, NP proxies.  Each master may keep a record: for every master the identity that is admitted, with a serial number.  Proxies
 * connect, read, decide (convene), and write the records that follow, one master at a time, by compare-and-swap.  Masters restart with
 * nothing, with an old snapshot or with everything, are emptied, or their clock steps, which ends their locks early.
 *
 * Asserted: once client A has got the lock, which does not expire here, no proxy gets it for B: nowhere are there q masters that vote and
 * do not have A's copy.  So whatever lets a master vote that has lost it, and was not given it back, is found.
 *
 * Abstractions:
 *  - A resync is one step, and a round is one step, in which any q or more of the masters that vote for this proxy get A's copy.  What
 *    happens during them is in resync.pml.
 *  - Whoever was admitted at the same serial is told apart by identity; restarts take any identity that was not used, so that either may win.
 *  - A master's connections die when it restarts; a proxy notices that any time later and decides on what it knew until then.
 *  - Clocks: a step is seen by every proxy that has known the master before, in the next batch.  A proxy that starts between a step and
 *    its withdrawal by another one cannot know of it, and is not modelled.
 *  - Horizons (admission without peers) and the operator's word are not modelled: such masters never vote again.
 *  - Masters are numbered in the order of their first loss: they are interchangeable.
 */
#define N 3
#define Q 2
#ifndef NP
#define NP 2
#endif
#ifndef CR
#define CR 1           /* losses: restarts, FLUSHALLs, clock steps */
#endif
#ifndef STEPS
#define STEPS 0        /* clock steps among them */
#endif
#ifndef PR
#define PR 0           /* proxies that start anew */
#endif
#ifndef DURABLE
#define DURABLE 0      /* masters persist every write */
#endif
#ifndef STARTED
#define STARTED 0      /* 1: begin after the bootstrap, all connected; 2: proxy 0 is about to write the first records */
#endif
#ifndef DROPS
#define DROPS 0        /* connections are lost without a restart */
#endif

/* The rules.  Each may be switched off, with -DRULE=0. */
#ifndef OWN
#define OWN 1          /* a master without its record has lost its locks */
#endif
#ifndef MAJORITY
#define MAJORITY 1     /* a master votes only if the records of q masters admit it */
#endif
#ifndef CAS
#define CAS 1          /* records are replaced by compare-and-swap */
#endif
#ifndef LOOKFIRST
#define LOOKFIRST 1    /* … and one that was not is expected in batches only when it has been looked at */
#endif
#ifndef NEWEST
#define NEWEST 1       /* serial numbers: the later of two admissions counts, not whichever was written last */
#endif
#ifndef ENDREAD
#define ENDREAD 1      /* every batch ends with a read of the record */
#endif
#ifndef NONEGETSNONE
#define NONEGETSNONE 1 /* a master without a record gets one only when it is admitted */
#endif
#ifndef RESTORED
#define RESTORED 1     /* a master that lost something is admitted only after a resync */
#endif
#ifndef KEPT
#define KEPT 1         /* a restarted master is admitted as it is only if it persists every write */
#endif
#ifndef GENERATION
#define GENERATION 1   /* a resync is good for the connection it was made on */
#endif
#ifndef MARKER
#define MARKER 1       /* … and while its marker is there */
#endif
#ifndef VOUCH
#define VOUCH 1        /* sources still have their record after they were read */
#endif
#ifndef WITHDRAW
#define WITHDRAW 1     /* a step of the clock ends the vote */
#endif
#ifndef STEPRESTORE
#define STEPRESTORE 1  /* … and makes a resync that was made before it worthless */
#endif
#ifndef STEPWRITE
#define STEPWRITE 1    /* … and an admission that was decided before it was noticed */
#endif
#ifndef BOOTALL
#define BOOTALL 1      /* bootstrap: all masters are there */
#endif
#ifndef BOOTONCE
#define BOOTONCE 1     /* bootstrap: not by a proxy that has seen a record */
#endif
#ifndef REREAD
#define REREAD 1       /* bootstrap: no record may have come since all masters were connected */
#endif

#ifndef FLUSHBOOT
#define FLUSHBOOT 0    /* 1: a master is emptied between a proxy's last look before a bootstrap and its write.  Not safe: see README.md */
#endif

/* A record is three admissions of 5 bits: serial * 4 + identity; identity 3 is a withdrawal, which is the newer one at the same serial. */
#define NONE -1
#define GONE 3
#define ADM(r,k) (((r)>>(5*(k)))&31)
#define SET(r,k,a) (((r)&~(31<<(5*(k))))|((a)<<(5*(k))))
#define SERIAL(a) ((a)>>2)
#define ID(a) ((a)&3)
#ifndef MOST
#define MOST 4         /* serials go no further */
#endif

byte life[N]; byte used[N];    /* the present identity, and all it ever had */
bit val[N];                                      /* it has A's copy */
short rec[N];
byte con[NP*N];                                  /* 0 no connection, 1 open, 2 dead and not noticed */
byte idv[NP*N];                                  /* what this proxy knows: identity, record, … */
short raw[NP*N]; short expect[NP*N];
byte serial[NP*N];                               /* of the admission in force, 0: does not vote */
bit keys[NP*N];
bit lost[NP*N]; bit restored[NP*N]; byte mark[NP*N]; /* marker: 1 there, 2 gone */
bit noted[NP*N];                                 /* a step of the clock was noticed since the view */
bit cond[NP*N];                                  /* the write to come asks for the marker */
byte step[NP*N]; byte last[NP*N];                /* clock: 1 stepped, 2 noticed; serial that this invalidates */
byte todo[NP]; short text[NP]; bit first[NP]; byte reread[NP]; byte new[NP]; /* masters to be written, the record, whether it is a bootstrap, masters to be read before, masters admitted */
bit seen[NP];
bit granted;
byte losses = CR; byte starts = PR; byte next = 0;
byte i, k, n, a, s; short merged; byte fresh, out; bit known, boot; /* scratch, 0 between steps */

#define X(p,m) ((p)*N+(m))
#define BITS(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1))
#define OPEN(p,m) (con[X(p,m)]!=0)

c_decl {
  extern int printf(const char *, ...);
  static int seen_[16];
  #define REACH(k, what) if (!seen_[k]) { seen_[k] = 1; printf("reached: %s\n", what); }
}

/* convene: what follows from the views of p.  out: masters that take no part. */
inline decide(p) {
  merged=0; known=0; fresh=0; out=0; boot=0; first[p]=0;
  i=0; do :: i<N ->
     if :: OPEN(p,i) && raw[X(p,i)]!=NONE -> known=1;
           k=0; do :: k<N ->
              if :: ADM(raw[X(p,i)],k)>ADM(merged,k) || (!NEWEST && ADM(raw[X(p,i)],k)!=0) -> merged=SET(merged,k,ADM(raw[X(p,i)],k)) :: else fi;
              k++ :: else -> break od; k=0
        :: else fi;
     if :: !OPEN(p,i) -> out=out|(1<<i) :: else fi;
     i++ :: else -> break od; i=0;
  if :: known -> consider(p)
     :: !known && (!seen[p] || !BOOTONCE) && (out==0 || !BOOTALL) && keys[X(p,0)]+keys[X(p,1)]+keys[X(p,2)]==0 -> bootstrap(p)
     :: else -> out=7
  fi;
  i=0; do :: i<N -> stand(p,i); i++ :: else -> break od; i=0;
  if :: known -> seen[p]=1 :: else fi;
  todo[p]=0;
  i=0; do :: i<N ->
     if :: OPEN(p,i) && merged!=raw[X(p,i)] && (raw[X(p,i)]!=NONE || ((fresh>>i)&1) || !NONEGETSNONE) && merged!=0 -> todo[p]=todo[p]|(1<<i) :: else fi;
     i++ :: else -> break od; i=0;
  i=0; do :: i<N -> cond[X(p,i)]=((todo[p]>>i)&1) && mark[X(p,i)]!=0; if :: !((todo[p]>>i)&1) && !lost[X(p,i)] -> mark[X(p,i)]=0 :: else fi; i++ :: else -> break od; i=0;
  new[p]=fresh&todo[p];
  text[p]=(todo[p]!=0 -> merged : 0); if :: boot && todo[p]!=0 -> first[p]=1 :: else fi;
  merged=0; known=0; fresh=0; out=0; boot=0 }

inline bootstrap(p) {
  boot=1;
  i=0; do :: i<N -> if :: OPEN(p,i) -> merged=SET(merged,i,4+idv[X(p,i)]); fresh=fresh|(1<<i) :: else fi; i++ :: else -> break od; i=0;
  if :: REREAD -> reread[p]=fresh :: else fi; c_code { REACH(0, "a bootstrap") } }

/* Before a bootstrap writes anything. */
inline readagain(p,m) {
  if :: con[X(p,m)]==1 && rec[m]==NONE -> reread[p]=reread[p]&~(1<<m)
     :: else -> reread[p]=0; todo[p]=0; text[p]=0; first[p]=0;
        if :: con[X(p,m)]==1 -> raw[X(p,m)]=rec[m]; c_code { REACH(7, "a bootstrap that another proxy was ahead of") } :: else -> close(p,m) fi
  fi }

inline consider(p) {
  i=0; do :: i<N && OPEN(p,i) ->
     a=ADM(merged,i);
     s=(step[X(p,i)]==2 && last[X(p,i)]>=SERIAL(a) -> 1 : 0);
     lost[X(p,i)]=0;
     if :: (restored[X(p,i)] || (!RESTORED && a!=0)) && !(ID(a)==idv[X(p,i)] && a!=0 && raw[X(p,i)]!=NONE && !s) -> enroll(i,idv[X(p,i)]); fresh=fresh|(1<<i); c_code { REACH(1, "an admission after a resync") }
        :: else ->
           if :: a==0 -> out=out|(1<<i)
              :: a!=0 && ID(a)==idv[X(p,i)] && raw[X(p,i)]==NONE && OWN -> lost[X(p,i)]=1
              :: a!=0 && ID(a)==idv[X(p,i)] && raw[X(p,i)]!=NONE && s && WITHDRAW -> enroll(i,GONE); out=out|(1<<i); c_code { REACH(2, "a withdrawal") }
              :: a!=0 && ID(a)==idv[X(p,i)] && (raw[X(p,i)]!=NONE || !OWN) && (!s || !WITHDRAW) -> skip
              :: a!=0 && ID(a)!=idv[X(p,i)] && (ID(a)==GONE || raw[X(p,i)]==NONE || (!DURABLE && KEPT) || s) -> lost[X(p,i)]=1
              :: else -> enroll(i,idv[X(p,i)]); c_code { REACH(3, "an admission of a master that kept everything") }
           fi
     fi;
     restored[X(p,i)]=restored[X(p,i)] && lost[X(p,i)];
     if :: lost[X(p,i)] -> out=out|(1<<i) :: else fi;
     i++
  :: i<N && !OPEN(p,i) -> i++
  :: else -> break od; i=0; a=0; s=0 }

/* Serials are bounded here: a state beyond that is not followed (see the end). */
inline enroll(m,id) { merged=SET(merged,m,(SERIAL(ADM(merged,m))<MOST -> (SERIAL(ADM(merged,m))+1)*4+id : ADM(merged,m))) }

inline stand(p,m) {
  if :: OPEN(p,m) ->
        n=0; k=0; do :: k<N -> if :: OPEN(p,k) && raw[X(p,k)]!=NONE && ADM(raw[X(p,k)],m)==ADM(merged,m) -> n++ :: else fi; k++ :: else -> break od; k=0;
        expect[X(p,m)]=raw[X(p,m)];
        if :: !((out>>m)&1) && (n>=Q || !MAJORITY) && (!OWN || (raw[X(p,m)]!=NONE && ADM(raw[X(p,m)],m)==ADM(merged,m))) && merged!=0 && known ->
              serial[X(p,m)]=SERIAL(ADM(merged,m));
              if :: step[X(p,m)]==2 && serial[X(p,m)]>last[X(p,m)] -> step[X(p,m)]=0 :: else fi;
              if :: serial[X(p,m)]>last[X(p,m)] -> last[X(p,m)]=serial[X(p,m)] :: else fi
           :: else -> serial[X(p,m)]=0 fi;
        n=0
     :: else fi }

/* recordScript, and what becomes of its answer. */
inline write(p,m) {
  todo[p]=todo[p]&~(1<<m);
  if :: con[X(p,m)]!=1 -> close(p,m)
     :: con[X(p,m)]==1 && rec[m]!=raw[X(p,m)] && CAS -> raw[X(p,m)]=rec[m]; if :: LOOKFIRST -> skip :: else -> expect[X(p,m)]=rec[m] fi; c_code { REACH(4, "a record that another proxy has changed") }
     :: con[X(p,m)]==1 && (rec[m]==raw[X(p,m)] || !CAS) && first[p] && val[m]!=0 -> keys[X(p,m)]=1
     :: con[X(p,m)]==1 && (rec[m]==raw[X(p,m)] || !CAS) && !(first[p] && val[m]!=0) && MARKER && cond[X(p,m)] && mark[X(p,m)]==2 -> c_code { REACH(5, "a missing marker") }
     :: else -> rec[m]=text[p]; raw[X(p,m)]=rec[m]; expect[X(p,m)]=rec[m];
        if :: cond[X(p,m)] -> mark[X(p,m)]=2 :: else fi;
        if :: STEPWRITE && noted[X(p,m)] && SERIAL(ADM(rec[m],m))>last[X(p,m)] -> last[X(p,m)]=SERIAL(ADM(rec[m],m)) :: else fi
  fi;
  if :: ((new[p]>>m)&1) -> mark[X(p,m)]=0; new[p]=new[p]&~(1<<m) :: else fi; cond[X(p,m)]=0; noted[X(p,m)]=0;
  if :: todo[p]==0 -> text[p]=0; first[p]=0 :: else fi }

inline close(p,m) { con[X(p,m)]=0; idv[X(p,m)]=0; raw[X(p,m)]=NONE; expect[X(p,m)]=NONE; serial[X(p,m)]=0; keys[X(p,m)]=0; lost[X(p,m)]=0; mark[X(p,m)]=0; cond[X(p,m)]=0; noted[X(p,m)]=0; new[p]=new[p]&~(1<<m);
  if :: GENERATION -> restored[X(p,m)]=0 :: else fi }

inline open(p,m) { con[X(p,m)]=1; idv[X(p,m)]=life[m]; raw[X(p,m)]=rec[m]; expect[X(p,m)]=rec[m]; serial[X(p,m)]=0; keys[X(p,m)]=(val[m]!=0 || rec[m]!=NONE);
  if :: step[X(p,m)]==1 -> notice(p,m) :: else fi }

/* A clock has stepped.  What was restored before may be gone again. */
inline notice(p,m) { step[X(p,m)]=2; if :: STEPRESTORE -> restored[X(p,m)]=0 :: else fi; if :: ((todo[p]>>m)&1) -> noted[X(p,m)]=1 :: else fi }

/* The end of a batch: adopt, then judge.  Whether it votes is in n. */
inline batch(p,m) {
  if :: step[X(p,m)]==1 -> notice(p,m) :: else fi;
  if :: ENDREAD && rec[m]!=expect[X(p,m)] && rec[m]!=NONE && serial[X(p,m)]>0 && ADM(rec[m],m)==serial[X(p,m)]*4+idv[X(p,m)] ->
        if :: !((todo[p]>>m)&1) -> raw[X(p,m)]=rec[m]; expect[X(p,m)]=rec[m] :: else fi; n=1
     :: ENDREAD && rec[m]==expect[X(p,m)] -> n=1
     :: !ENDREAD -> n=1
     :: else -> if :: !((todo[p]>>m)&1) -> raw[X(p,m)]=rec[m] :: else fi; n=0
  fi;
  if :: rec[m]!=NONE && SERIAL(ADM(rec[m],m))>last[X(p,m)] -> last[X(p,m)]=SERIAL(ADM(rec[m],m)) :: else fi;
  n = n && serial[X(p,m)]>0 && (step[X(p,m)]!=2 || !WITHDRAW) }

/* Votes of a round: in out, those that would be given. */
inline poll(p) {
  out=0; k=0; do :: k<N -> if :: con[X(p,k)]==1 && serial[X(p,k)]>0 -> batch(p,k); if :: n -> out=out|(1<<k) :: else fi; n=0 :: else fi; k++ :: else -> break od; k=0 }

inline acquire(p,set) {
  poll(p);
  if :: (out&set)==set -> granted=1; if :: losses<CR -> c_code { REACH(6, "a grant after a loss") } :: else fi;
        i=0; do :: i<N -> if :: (set>>i)&1 -> val[i]=1 :: else fi; i++ :: else -> break od; i=0
     :: else fi; out=0 }

inline rival(p) {
  poll(p);
  i=0; do :: i<N -> if :: val[i] -> out=out&~(1<<i) :: else fi; i++ :: else -> break od; i=0;
  if :: out!=0 && losses<CR -> c_code { REACH(8, "a rival after a loss") } :: else fi;
  assert(BITS(out)<Q); out=0 }

inline resync(p,m) {
  a=0; s=0;
  i=0; do :: i<N ->
     if :: i!=m && con[X(p,i)]==1 && serial[X(p,i)]>0 ->
           n=1; if :: VOUCH -> batch(p,i) :: else n = step[X(p,i)]!=2 fi;
           if :: n -> s++; a=a|val[i] :: else fi; n=0
        :: else fi;
     i++ :: else -> break od; i=0;
  if :: s>=N-Q+1 -> val[m]=val[m]|a; restored[X(p,m)]=1; mark[X(p,m)]=1 :: else fi;
  a=0; s=0 }

inline lose(m) {
  losses--; if :: m==next && next<N-1 -> next++ :: else fi }
inline die(m) { i=0; do :: i<NP -> if :: con[X(i,m)]==1 -> con[X(i,m)]=2 :: else fi; unmark(i,m); i++ :: else -> break od; i=0 }
inline unmark(p,m) { if :: mark[X(p,m)]==1 -> mark[X(p,m)]=2 :: else fi }
inline restart(m,id) { used[m]=used[m]|(1<<id); life[m]=id; lose(m); die(m) }

inline startanew(p) {
  starts--; seen[p]=0; todo[p]=0; text[p]=0; first[p]=0; reread[p]=0; new[p]=0;
  i=0; do :: i<N -> close(p,i); restored[X(p,i)]=0; step[X(p,i)]=0; last[X(p,i)]=0; i++ :: else -> break od; i=0 }

#define MAYLOSE(m) (losses>0 && m<=next)
#define A_OPEN(p,m)   :: d_step { con[X(p,m)]==0 -> open(p,m); printf("ACT proxy %d connects to master %d, record %d\n",p,m,rec[m]) }
#define A_CLOSE(p,m)  :: d_step { con[X(p,m)]==2 && !((todo[p]>>m)&1) -> close(p,m); printf("ACT proxy %d loses master %d\n",p,m) } \
                      :: d_step { DROPS && con[X(p,m)]==1 && !((todo[p]>>m)&1) -> close(p,m); printf("ACT connection of proxy %d to master %d lost\n",p,m) }
#define A_DECIDE(p)   :: d_step { todo[p]==0 -> decide(p); printf("ACT proxy %d decides: votes %d %d %d, writes %d to %d\n",p,serial[X(p,0)],serial[X(p,1)],serial[X(p,2)],text[p],todo[p]) }
#define A_WRITE(p,m)  :: d_step { ((todo[p]>>m)&1) && reread[p]==0 -> write(p,m); printf("ACT proxy %d writes to master %d, record %d\n",p,m,rec[m]) }
#define A_REREAD(p,m) :: d_step { ((reread[p]>>m)&1) -> readagain(p,m); printf("ACT proxy %d reads record %d of master %d again\n",p,rec[m],m) }
#define A_PROBE(p,m)  :: d_step { con[X(p,m)]==1 && ((raw[X(p,m)]!=rec[m] && !((todo[p]>>m)&1)) || step[X(p,m)]==1) -> batch(p,m); n=0; printf("ACT proxy %d sees record %d on master %d\n",p,rec[m],m) }
#define A_GRANT(p,set) :: d_step { !granted -> acquire(p,set); printf("ACT A acquires via proxy %d on masters %d: %d\n",p,set,granted) }
#define A_RIVAL(p)    :: d_step { granted -> printf("ACT B tries via proxy %d\n",p); rival(p) }
#define A_RESYNC(p,m) :: d_step { lost[X(p,m)] && !restored[X(p,m)] && con[X(p,m)]==1 -> resync(p,m); printf("ACT proxy %d resynchronises master %d, which holds %d: %d\n",p,m,val[m],restored[X(p,m)]) }
#define A_FLUSH(m)    :: d_step { MAYLOSE(m) && (FLUSHBOOT || (!first[0] && !first[NP-1])) -> val[m]=0; rec[m]=NONE; lose(m); i=0; do :: i<NP -> unmark(i,m); i++ :: else -> break od; i=0; printf("ACT master %d is emptied\n",m) }
#define A_STEP(m)     :: d_step { STEPS && MAYLOSE(m) && con[X(0,m)]!=0 && con[X(NP-1,m)]!=0 -> val[m]=0; lose(m); i=0; do :: i<NP -> step[X(i,m)]=1; i++ :: else -> break od; i=0; printf("ACT the clock of master %d steps\n",m) }
#define A_RESTART(m,id) :: d_step { MAYLOSE(m) && !((used[m]>>id)&1) -> val[m]=0; rec[m]=NONE; restart(m,id); printf("ACT master %d restarts empty as %d\n",m,id) } \
                      :: d_step { MAYLOSE(m) && !((used[m]>>id)&1) && !DURABLE && rec[m]!=NONE -> val[m]=0; restart(m,id); printf("ACT master %d restarts from a snapshot as %d\n",m,id) } \
                      :: d_step { MAYLOSE(m) && !((used[m]>>id)&1) && DURABLE -> restart(m,id); printf("ACT master %d restarts with everything as %d\n",m,id) }
#define KNOWN(m) ((step[X(0,m)]==0 && step[X(NP-1,m)]==0) || (rec[0]!=NONE && ID(ADM(rec[0],m))==GONE) + (rec[1]!=NONE && ID(ADM(rec[1],m))==GONE) + (rec[2]!=NONE && ID(ADM(rec[2],m))==GONE) >= Q)
#define A_FRESH(p)    :: d_step { starts>0 && KNOWN(0) && KNOWN(1) && KNOWN(2) -> startanew(p); printf("ACT proxy %d starts anew\n",p) }

#define PER_PM(p,m) A_OPEN(p,m) A_CLOSE(p,m) A_WRITE(p,m) A_REREAD(p,m) A_PROBE(p,m) A_RESYNC(p,m)
#define PER_P(p) A_DECIDE(p) A_FRESH(p) A_GRANT(p,3) A_GRANT(p,5) A_GRANT(p,6) A_GRANT(p,7) A_RIVAL(p) PER_PM(p,0) PER_PM(p,1) PER_PM(p,2)
#define PER_M(m) A_FLUSH(m) A_STEP(m) A_RESTART(m,0) A_RESTART(m,1) A_RESTART(m,2)

active proctype Run() {
  d_step {
    i=0; do :: i<N -> life[i]=1; used[i]=2; rec[i]=NONE; i++ :: else -> break od;
    i=0; do :: i<NP*N -> raw[i]=NONE; expect[i]=NONE; i++ :: else -> break od; i=0 }
#if STARTED==2
  d_step { i=0; do :: i<N -> open(0,i); i++ :: else -> break od; i=0; decide(0) }
#endif
#if STARTED==1
  d_step {
    i=0; do :: i<N -> rec[i]=5+(5<<5)+(5<<10); i++ :: else -> break od;
    i=0; do :: i<NP*N -> con[i]=1; idv[i]=1; raw[i]=rec[0]; expect[i]=rec[0]; serial[i]=1; last[i]=1; i++ :: else -> break od;
    i=0; do :: i<NP -> seen[i]=1; i++ :: else -> break od; i=0 }
#endif
  do
  PER_P(0)
#if NP>1
  PER_P(1)
#endif
  PER_M(0) PER_M(1) PER_M(2)
  od
}
