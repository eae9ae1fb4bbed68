/* How the set of masters changes (change.go, sets.go, meeting.go, admission.go, standing.go, seats.go, round.go; design §5).  Safety only.
 *
 * Two proxies.  Each looks at any of the masters at any time, finds the newest set among their records, and writes the record that
 * follows, one master at a time and as late as it likes, by compare-and-swap.  Each may begin the changes that are its own, so that two
 * changes of one epoch may be begun at once: the lock around a change is not modelled.  A proxy that does nothing is late, or dead.
 *
 * Asserted, in every state:
 *  (1) clients A and B never both get the lock, which does not expire here;
 *  (2) no proxy can tell a holder that the lock is not his: those that may have it, and those that do not vote, are a quorum;
 *  (3) a set that some proxy had a quorum of votes in is never replaced by another one of its epoch, or by an older one.
 *
 * Abstractions:
 *  - Masters are known by what they are; that a place in the records belongs to one of them is not modelled (sets.go, sit).
 *  - A set is its number; which masters it has, what it was made of and by whom is in tables, by configuration (CONF).
 *  - A look is one step, at what the masters hold then.  What follows from it lasts until the next look.
 *  - Serial numbers end at 3: a master that would need a higher one does not vote again.
 *  - A resync is one step for all sources that the proxy believes to vote (resync.pml has it in full), and another one until the
 *    admission.  The wait ahead of it ends the rounds that counted votes from before: they lose those votes here.
 *  - Horizons only with HORIZON, and not for a proxy that starts then: it can take an old set for the one in force (README.md).
 *  - An attempt that does not count, or fails, leaves copies anywhere at any time, and they vanish whenever they like: with NOISE.
 *
 * Its choices are atomic sequences, so it is searched depth-first: spin -D… -a sets.pml; gcc -DSAFETY -DNOREDUCE pan.c; ./pan -E -m4000000
 */
#ifndef CONF
#define CONF 1
#endif
#ifndef CR
#define CR 0           /* masters that restart empty */
#endif
#ifndef STEPS
#define STEPS 0        /* clock steps: a master loses its locks and nothing else */
#endif
#ifndef PR
#define PR 0           /* proxies that start anew */
#endif
#ifndef NT
#define NT 2           /* clients; 1 is enough for (2) and (3) */
#endif
#ifndef BOTH
#define BOTH 1         /* 0: only proxy 0 begins a change */
#endif
#ifndef LATE
#define LATE 0         /* 1: proxy 1 never looks at the records again */
#endif
#ifndef VIEWS
#define VIEWS 0        /* looks at some of the masters that have records of one set */
#endif
#ifndef NOISE
#define NOISE 0        /* late SETs, and attempts that fail and are undone */
#endif
#ifndef HORIZON
#define HORIZON 0      /* 1: masters are admitted without peers, when all that they have forgotten has expired: only (3) is looked at */
#endif

/* The rules.  Each may be switched off, with -DRULE=0.  MAJORITY, ALLVOTE, OUTDATED and MERGE were not found to be needed here (README.md). */
#ifndef CAS
#define CAS 1          /* a record is replaced by compare-and-swap */
#endif
#ifndef FIRST
#define FIRST 1        /* a master takes only the first change of an epoch */
#endif
#ifndef SETENDS
#define SETENDS 1      /* the votes of a master for the old set end with its record */
#endif
#ifndef ROUNDSEATS
#define ROUNDSEATS 1   /* a round gets no votes of other seats than it began with */
#endif
#ifndef MAJORITY
#define MAJORITY 1     /* a set has votes only when q masters have its record */
#endif
#ifndef DECIDED
#define DECIDED 1      /* … and a majority of the set before had it */
#endif
#ifndef MEMORY
#define MEMORY 1       /* a proxy does not go back to a set from before one that it has seen decided */
#endif
#ifndef JOINSYNC
#define JOINSYNC 1     /* what joins is resynchronised first */
#endif
#ifndef ALLVOTE
#define ALLVOTE 1      /* a change is begun only when all others vote */
#endif
#ifndef OUTDATED
#define OUTDATED 1     /* a master with a record older than that before the last change is resynchronised */
#endif
#ifndef MERGE
#define MERGE 1        /* what the records from before the change say of admissions is kept */
#endif
#ifndef REFILL
#define REFILL 1       /* before one leaves an odd number, others are resynchronised */
#endif
#ifndef LEAVEFIRST
#define LEAVEFIRST 1   /* … after its votes have ended, */
#endif
#ifndef LEAVEOWN
#define LEAVEOWN 1     /* … which its own record must say */
#endif
#ifndef WAIT
#define WAIT 1         /* a resync waits for rounds to end */
#endif

/* The configurations: masters, sets as masks, what each was made of (7: nothing), its epoch, and whose change it is; 3 bits each but the mask. */
#define TAB(a,b,c,d,w) ((a)|((b)<<(w))|((c)<<(2*(w)))|((d)<<(3*(w))))
#if CONF==1            /* 3 to 4, by both at once */
#define M 4
#define NS (2+BOTH)
#define MEMS TAB(7,15,15,0,6)
#define PRES TAB(7,0,0,7,3)
#define EPS TAB(0,1,1,0,3)
#define BYS TAB(2,0,1,2,3)
#elif CONF==2          /* replace in 3: each replaces another one by the fourth */
#define M 4
#define NS (2+BOTH)
#define MEMS TAB(7,11,13,0,6)
#define PRES TAB(7,0,0,7,3)
#define EPS TAB(0,1,1,0,3)
#define BYS TAB(2,0,1,2,3)
#elif CONF==3          /* 4 to 3: each removes another one */
#define M 4
#define NS (2+BOTH)
#define MEMS TAB(15,7,14,0,6)
#define PRES TAB(7,0,0,7,3)
#define EPS TAB(0,1,1,0,3)
#define BYS TAB(2,0,1,2,3)
#elif CONF==4          /* 5 to 4, with the refill */
#define M 5
#define NS 2
#define MEMS TAB(31,15,0,0,6)
#define PRES TAB(7,0,7,7,3)
#define EPS TAB(0,1,0,0,3)
#define BYS TAB(2,0,2,2,3)
#elif CONF==5          /* 4 to 5 */
#define M 5
#define NS 2
#define MEMS TAB(15,31,0,0,6)
#define PRES TAB(7,0,7,7,3)
#define EPS TAB(0,1,0,0,3)
#define BYS TAB(2,0,2,2,3)
#elif CONF==6          /* 3 to 4, and one of the first leaves: a replacement in two steps */
#define M 4
#define NS 4
#define MEMS TAB(7,15,14,11,6)
#define PRES TAB(7,0,1,1,3)
#define EPS TAB(0,1,2,2,3)
#define BYS TAB(2,0,1,0,3)
#elif CONF==7          /* two leave 5 at once, which change.go does not do */
#define M 5
#define NS 2
#define MEMS TAB(31,7,0,0,6)
#define PRES TAB(7,0,7,7,3)
#define EPS TAB(0,1,0,0,3)
#define BYS TAB(2,0,2,2,3)
#elif CONF==8          /* two replacements in 3, one after the other */
#define M 5
#define NS 3
#define MEMS TAB(7,11,25,0,6)
#define PRES TAB(7,0,1,7,3)
#define EPS TAB(0,1,2,0,3)
#define BYS TAB(2,0,1,2,3)
#endif
#define MEM(s) ((MEMS>>(6*(s)))&63)
#define PRE(s) ((PRES>>(3*(s)))&7)
#define EP(s) ((EPS>>(3*(s)))&7)
#define BY(s) ((BYS>>(3*(s)))&7)
#define STAY(s) (MEM(s)&MEM(PRE(s)))
#define LEAVES(s) (MEM(PRE(s))&~MEM(s))
#define CNT(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1)+(((b)>>3)&1)+(((b)>>4)&1))
#define NEED(s) (CNT(MEM(s))/2+1)
#define BIT(b,m) (((b)>>(m))&1)

/* A record: of each master the admission, serial * 4 + identity, then the set, and whether it is known to be decided.  Identity 0 and 1 are
 * the lives of a master; that it leaves, and that it has none, are newer at the same serial. */
#define NONE (1<<28)
#define LEAVING 2
#define GONE 3
#define ADM(r,k) (((r)>>(4*(k)))&15)
#define PUT(r,k,a) (((r)&~(15<<(4*(k))))|((a)<<(4*(k))))
#define ALLADM ((1<<24)-1)
#define SERIAL(a) ((a)>>2)
#define ID(a) ((a)&3)
#define UP(a,id) ((SERIAL(a)+1)*4+(id))
#define SETOF(r) (((r)>>24)&7)
#define SETTLED(r) (((r)>>27)&1)
#define OF(r,s) ((r)!=NONE && SETOF(r)==(s))
/* A record from before the last change, and one that is older. */
#define BEFORE(r,s) ((r)!=NONE && PRE(s)!=7 && SETOF(r)!=(s) && (SETOF(r)==PRE(s) || (!OUTDATED && OLDER(r,s)) || (!FIRST && EP(SETOF(r))==EP(s))))
#define OLDER(r,s) ((r)!=NONE && EP(SETOF(r))+1<EP(s))

int rec[M]; byte val[M]; byte life;              /* the record, 0 or A (1) or B (2), who is in his second life */
byte pset[2]; byte bel[2];                       /* the set that a proxy acts in, and who votes there */
byte todo[2]; int text[2];                       /* masters to be written, as long as their record is what was seen; the new record */
byte mem[2];                                     /* the newest set that it has seen decided */
byte lost[2]; byte restored[2];                  /* who has to be resynchronised, and who was */
byte step[2]; byte stepser;                      /* whose clock stepped; the serial that this invalidates */
byte got[2]; byte via[2]; byte oset[2]; bit granted[2]; /* of A and B: votes, proxy, seats of the round */
byte force;                                      /* sets that had a quorum of votes */
byte co;                                         /* how far proxy 0 is with the refill: 2k+1 ordered, 2k+2 done */
byte losses = CR; byte steps = STEPS; byte starts = PR;
byte pp, mm, cc, vv;                              /* what a step is about, 0 between steps */
byte i, k, a, s, e, out, fresh, n; int mg, r; byte known, conflict, ok; /* scratch, 0 between steps */

c_decl {
  extern int printf(const char *, ...);
  static int seen_[16];
  #define REACH(k, what) if (!seen_[k]) { seen_[k] = 1; printf("reached: %s\n", what); }
}

/* Masters of set x with its record, among those in sight that were in the set before. */
#define IN(m,x,vis) (m<M && BIT(vis,m) && OF(rec[(m)%M],x) && (PRE(x)==7 || BIT(STAY(x),m)))
#define HAVE(x,vis) (IN(0,x,vis)+IN(1,x,vis)+IN(2,x,vis)+IN(3,x,vis)+IN(4,x,vis))
#define SEENSETTLED(m,x,vis) (m<M && BIT(vis,m) && OF(rec[(m)%M],x) && SETTLED(rec[(m)%M]))
#define ISDECIDED(x,vis) (PRE(x)==7 || HAVE(x,vis)>=CNT(MEM(PRE(x)))/2+1 || (DECIDED && \
  (SEENSETTLED(0,x,vis) || SEENSETTLED(1,x,vis) || SEENSETTLED(2,x,vis) || SEENSETTLED(3,x,vis) || SEENSETTLED(4,x,vis))))

/* setInForce: the newest set in sight is s. */
inline choose(p,vis) {
  known=0; conflict=0; s=pset[p]; e=0;
  i=0; do :: i<M ->
     if :: BIT(vis,i) && rec[i]!=NONE ->
           if :: !known || EP(SETOF(rec[i]))>e -> s=SETOF(rec[i]); e=EP(s); conflict=0; known=1
              :: known && EP(SETOF(rec[i]))==e && SETOF(rec[i])!=s && FIRST -> conflict=1
              :: else -> skip fi
        :: else fi;
     i++ :: else -> break od; i=0;
  if :: conflict ->
        n=0; do :: n<NS && !(EP(n)==e && PRE(n)!=7 && ISDECIDED(n,vis)) -> n++ :: else -> break od;
        if :: n<NS -> s=n; conflict=0; c_code { REACH(1, "of two changes one is decided") } :: else -> c_code { REACH(2, "two changes, none decided") } fi
     :: else fi;
  if :: MEMORY && known && EP(mem[p])>EP(s) -> s=mem[p]; conflict=0; c_code { REACH(5, "an older set, which a proxy knows to be over") } :: else fi;
  n=0; e=0 }

/* What the records in sight say of admissions. */
inline gather(vis) {
  mg=0;
  i=0; do :: i<M && BIT(MEM(s),i) ->
     a=((PRE(s)!=7 && !BIT(MEM(PRE(s)),i)) -> 4+GONE : 0);
     k=0; do :: k<M ->
        if :: BIT(vis,k) && (OF(rec[k],s) || (BEFORE(rec[k],s) && BIT(MEM(SETOF(rec[k])),i) && BIT(STAY(s),i) && (MERGE || a==0))) && ADM(rec[k],i)>a -> a=ADM(rec[k],i) :: else fi;
        k++ :: else -> break od; k=0;
     mg=PUT(mg,i,a); i++
  :: i<M && !BIT(MEM(s),i) -> i++
  :: else -> break od; i=0; a=0 }

#define STEPPER 0      /* the master whose clock steps */
#define LIFE(m) BIT(life,m)
inline admit(m) { mg=PUT(mg,m,UP(ADM(mg,m),LIFE(m))); fresh=fresh|(1<<m) }
inline lose(m) { out=out|(1<<m); n=n|(1<<m) }

/* consider: ord is 1 for the order that w leaves, 2 that it is refilled.  n: who has lost something. */
inline consider(p,vis,ord,w) {
  out=0; fresh=0; n=0;
  i=0; do :: i<M && BIT(MEM(s),i) ->
     if :: ord==1 && w==i -> mg=PUT(mg,i,UP(ADM(mg,i),LEAVING)) :: else fi;
     r=rec[i]; a=ADM(mg,i); k=OF(r,s) || BEFORE(r,s); ok=!(BIT(step[p],i) && stepser>=SERIAL(a));
     if :: !BIT(vis,i) || (r!=NONE && !k && !OLDER(r,s)) -> out=out|(1<<i)
        :: else ->
           if :: ord==2 && w==i -> mg=PUT(mg,i,UP(a,GONE)); lose(i)
              :: !(ord==2 && w==i) && SERIAL(a)<3 && (BIT(restored[p],i) || (!JOINSYNC && r==NONE && a==4+GONE)) && !(ID(a)==LIFE(i) && k && ok) -> admit(i)
              :: else ->
                 if :: ID(a)==LEAVING -> out=out|(1<<i)
                    :: ID(a)!=LEAVING && (ID(a)!=LIFE(i) || !k) -> lose(i)
                    :: ID(a)!=LEAVING && ID(a)==LIFE(i) && k && !ok && SERIAL(a)<3 -> mg=PUT(mg,i,UP(a,GONE)); lose(i)
                    :: ID(a)!=LEAVING && ID(a)==LIFE(i) && k && !ok && SERIAL(a)==3 -> lose(i)
                    :: else -> skip fi
           fi
     fi;
      i++
  :: i<M && !BIT(MEM(s),i) -> i++
  :: else -> break od; i=0; r=0; a=0; k=0; ok=0 }

/* count: who votes. */
inline stand(p,vis) {
  bel[p]=0;
  if :: known && !conflict && (!DECIDED || SETTLED(mg)) ->
        i=0; do :: i<M ->
           if :: BIT(MEM(s),i) && !BIT(out,i) && OF(rec[i],s) && ADM(rec[i],i)==ADM(mg,i) ->
                 a=0; k=0; do :: k<M -> if :: BIT(vis,k) && BIT(MEM(s),k) && OF(rec[k],s) && ADM(rec[k],i)==ADM(mg,i) -> a++ :: else fi; k++ :: else -> break od; k=0;
                 if :: a>=NEED(s) || !MAJORITY -> bel[p]=bel[p]|(1<<i) :: else fi; a=0
              :: else fi;
           i++ :: else -> break od; i=0
     :: else fi }

/* Whose votes p counts. */
#define COUNTS(p,m) (m<M && BIT(bel[p],m) && rec[(m)%M]!=NONE && (!SETENDS || SETOF(rec[(m)%M])==pset[p]))
#define VOTERS(p) (COUNTS(p,0)|(COUNTS(p,1)<<1)|(COUNTS(p,2)<<2)|(COUNTS(p,3)<<3)|(COUNTS(p,4)<<4))
#define HAS(m,c) (m<M && val[(m)%M]==(c)+1)
#define HOLD(c) (HAS(0,c)|(HAS(1,c)<<1)|(HAS(2,c)<<2)|(HAS(3,c)<<3)|(HAS(4,c)<<4))

/* A look of p at the masters in sight: t is a change that it begins, or 7. */
inline look(p,vis,t,ord,w) {
  choose(p,vis);
  if :: t!=7 && known && !conflict && PRE(t)==s -> s=t :: else fi;
  gather(vis);
  if :: DECIDED && (ISDECIDED(s,vis) || (MEMORY && s==mem[p])) -> mg=mg|(1<<27) :: else fi;
  if :: known && !conflict -> consider(p,vis,ord,w) :: else -> out=31; fresh=0; n=0 fi;
  stand(p,vis);
  lost[p]=n; restored[p]=(s==pset[p] -> restored[p]&n : 0); pset[p]=s; n=0;
  if :: BIT(bel[p],STEPPER) -> step[p]=0 :: else fi;
  if :: known && !conflict && (SETTLED(mg) || !DECIDED) -> mem[p]=s :: else fi;
  todo[p]=0; text[p]=0; mg=mg|(s<<24);
  i=0; do :: i<M ->
     if :: known && !conflict && BIT(vis,i) && BIT(MEM(s),i) && rec[i]!=mg && (OF(rec[i],s) || BEFORE(rec[i],s) || (BIT(fresh,i) && (rec[i]==NONE || OLDER(rec[i],s)))) -> todo[p]=todo[p]|(1<<i) :: else fi;
     i++ :: else -> break od; i=0;
  text[p]=(todo[p]!=0 -> mg : 0);
  mg=0; out=0; fresh=0;
  if :: CNT(VOTERS(p))>=NEED(s) ->
        i=0; do :: i<NS -> assert(!(BIT(force,i) && i!=s && EP(i)>=EP(s))); i++ :: else -> break od; i=0;
        if :: !BIT(force,s) && s>0 -> c_code { REACH(0, "a new set in force") } :: else fi;
        force=force|(1<<s)
     :: else fi;
  s=0; known=0; conflict=0 }

inline clean(p) { if :: todo[p]==0 -> text[p]=0 :: else fi }
inline stale(p,m) { if :: CAS && BIT(todo[p],m) -> todo[p]=todo[p]&~(1<<m); clean(p); c_code { REACH(3, "a record that another proxy has changed") } :: else fi }

inline write(p,m) {
  if :: rec[m]==NONE || ADM(rec[m],m)!=ADM(text[p],m) -> bel[0]=bel[0]&~(1<<m); bel[1]=bel[1]&~(1<<m) :: else fi;
  rec[m]=text[p]; todo[p]=todo[p]&~(1<<m); clean(p); stale(1-p,m) }

inline crash(m) {
  losses--; rec[m]=NONE; val[m]=0; life=life|(1<<m);
  i=0; do :: i<2 -> bel[i]=bel[i]&~(1<<m); todo[i]=todo[i]&~(1<<m); clean(i); restored[i]=restored[i]&~(1<<m); lost[i]=lost[i]&~(1<<m); i++ :: else -> break od; i=0 }

inline endrounds(b) {
  if :: WAIT && !granted[0] -> got[0]=got[0]&~(b) :: else fi; if :: WAIT && !granted[1] -> got[1]=got[1]&~(b) :: else fi;
  i=0; do :: i<2 -> if :: got[i]==0 -> via[i]=0; oset[i]=0 :: else fi; i++ :: else -> break od; i=0 }

/* From all that p believes to vote, at least N-q+1 in its set. */
inline resync(p,m) {
  k=0; a=0; e=VOTERS(p)&~(1<<m); n=0;
  i=0; do :: i<M ->
     if :: BIT(e,i) -> a=a|val[i] :: else fi;
     if :: rec[i]!=NONE && ID(ADM(rec[i],i))==LEAVING && OF(rec[m],pset[p]) -> n=n|(1<<i) :: else fi;
     i++ :: else -> break od; i=0;
  endrounds((1<<m)|n);
  if :: a!=3 && (val[m]==0 || a==0 || val[m]==a) -> val[m]=val[m]|a; restored[p]=restored[p]|(1<<m) :: else fi;
  a=0; e=0; n=0 }
#define SOURCES(p,m) (CNT(VOTERS(p)&~(1<<(m)))>=CNT(MEM(pset[p]))-NEED(pset[p])+1)

inline vote(p,m,c) {
  val[m]=c+1;
  if :: got[c]==0 -> via[c]=p; oset[c]=pset[p] :: else fi;
  got[c]=got[c]|(1<<m);
  if :: CNT(got[c])>=NEED(oset[c]) -> granted[c]=1; got[c]=0; via[c]=0; if :: oset[c]>0 -> c_code { REACH(4, "a grant in a new set") } :: else fi; oset[c]=0;
        assert(!(granted[0] && granted[1])) :: else fi }

inline startanew(p) { starts--; pset[p]=0; bel[p]=0; todo[p]=0; text[p]=0; lost[p]=0; restored[p]=0; step[p]=0; mem[p]=0;
  if :: !granted[0] && via[0]==p -> got[0]=0; oset[0]=0; via[0]=0 :: else fi; if :: !granted[1] && via[1]==p -> got[1]=0; oset[1]=0; via[1]=0 :: else fi }

/* The refill before a master (W) leaves: proxy 0 orders that, then resynchronises the first q others one after the other. */
#if CONF==4 || CONF==7
#define W 4
#define ODD REFILL
#define WROTE(m) (rec[m]!=NONE && ID(ADM(rec[m],m))==LEAVING)
#else
#define W 0
#define ODD 0
#define WROTE(m) 0
#endif
#define DONE (2*NEED(0)+2)
#define TARGET (co/2-1)

inline refill(vis) {
  if :: co==0 && pset[0]==0 && (bel[0]&STAY(1))==STAY(1) ->
        if :: LEAVEFIRST -> look(0,vis,7,1,W); co=1 :: else -> co=2 fi; printf("ACT proxy 0 orders that %d leaves, sees %d\n",W,vis)
     :: co==1 && todo[0]==0 && (!LEAVEOWN || WROTE(W)) -> co=2; printf("ACT proxy 0 has ordered that %d leaves\n",W)
     :: co>=2 && co<DONE && co%2==0 && BIT(vis,TARGET) && pset[0]==0 -> mm=TARGET; look(0,vis,7,2,mm); co++; printf("ACT proxy 0 orders a refill of %d, sees %d\n",mm,vis)
     :: co>1 && co%2==1 && co<99 && todo[0]==0 && BIT(bel[0],(co-3)/2) -> co++; printf("ACT the refill is done, %d\n",co)
     :: else -> skip fi }

/* Of masters with records of one set all are looked at, or none; with VIEWS, of those with equal records.  Fewer would have fewer votes. */
#if VIEWS
#define KIND(x) rec[(x)%M]
#else
#define KIND(x) (rec[(x)%M]>>24&23)
#endif
#define SAME(x,y,vis) (x>=M || y>=M || KIND(x)!=KIND(y) || BIT(vis,x)==BIT(vis,y))
#define WORTH(vis) (SAME(0,1,vis) && SAME(0,2,vis) && SAME(0,3,vis) && SAME(0,4,vis) && SAME(1,2,vis) && SAME(1,3,vis) && SAME(1,4,vis) && SAME(2,3,vis) && SAME(2,4,vis) && SAME(3,4,vis))
#define BEGUN(c) (granted[c] || HOLD(c)!=0 || got[c]!=0)
#define BEGINS(p,t,vis) (BY(t)==p && pset[p]==PRE(t) && (vis&STAY(t))!=0 && (!ALLVOTE || (bel[p]&STAY(t))==STAY(t)) && (!ODD || co==DONE))
#define DENIES(p,c) (granted[c] && CNT(MEM(pset[p]))-CNT(VOTERS(p)&~HOLD(c))<NEED(pset[p]))

inline proxy() { if :: pp=0 :: pp=1 fi }
inline client() { if :: cc=0 :: NT>1 -> cc=1 fi }
inline master() { if :: mm=0 :: mm=1 :: mm=2 :: M>3 -> mm=3 :: M>4 -> mm=4 fi }
inline sight() { if :: vv=0 :: vv=1 fi; if :: vv=vv+2 :: skip fi; if :: vv=vv+4 :: skip fi; if :: M>3 -> vv=vv+8 :: skip fi; if :: M>4 -> vv=vv+16 :: skip fi }
inline done() { pp=0; mm=0; cc=0; vv=0; i=0; k=0; a=0; s=0; e=0; out=0; fresh=0; n=0; mg=0; r=0; known=0; conflict=0; ok=0 }

active proctype Run() {
  d_step {
    i=0; do :: i<M -> rec[i]=NONE; if :: BIT(MEM(0),i) -> k=0; mg=(DECIDED<<27); do :: k<M -> if :: BIT(MEM(0),k) -> mg=PUT(mg,k,4) :: else fi; k++ :: else -> break od; rec[i]=mg :: else fi; i++ :: else -> break od;
    i=0; k=0; mg=0; bel[0]=MEM(0); bel[1]=MEM(0); force=1 }
  do
  :: atomic { proxy(); sight(); d_step {
       if :: vv!=0 && WORTH(vv) && !(LATE && pp==1) -> if :: pp==0 && todo[0]!=0 && co%2==1 -> co=99 :: else fi;
             look(pp,vv,7,0,0); printf("ACT proxy %d sees %d: set %d, votes %d, lost %d, writes to %d\n",pp,vv,pset[pp],bel[pp],lost[pp],todo[pp])
          :: else fi; done() } }
  :: atomic { if :: mm=1 :: NS>2 -> mm=2 :: NS>3 -> mm=3 fi; pp=BY(mm); if :: pset[pp]==PRE(mm) -> sight() :: else fi; d_step {
       if :: vv!=0 && WORTH(vv) && BEGINS(pp,mm,vv) -> look(pp,vv,mm,0,0); printf("ACT proxy %d begins set %d, sees %d, writes to %d\n",pp,mm,vv,todo[pp])
          :: else fi; done() } }
  :: atomic { ODD -> if :: vv=31 :: vv=31-(1<<W) fi; d_step { refill(vv); done() } }
  :: atomic { todo[0]!=0 || todo[1]!=0 -> proxy(); master(); d_step {
       if :: BIT(todo[pp],mm) -> write(pp,mm); printf("ACT proxy %d writes to master %d: set %d, record %x\n",pp,mm,SETOF(rec[mm]),rec[mm])
          :: else fi; done() } }
  :: atomic { NT>0 -> proxy(); master(); client(); d_step {
       if :: COUNTS(pp,mm) && val[mm]==0 && !granted[cc] && (got[cc]==0 || (via[cc]==pp && (oset[cc]==pset[pp] || !ROUNDSEATS))) && (cc==0 || BEGUN(0)) -> vote(pp,mm,cc); printf("ACT %c via proxy %d on master %d: votes %d, granted %d\n",'A'+cc,pp,mm,got[cc],granted[cc])
          :: else fi; done() } }
  :: atomic { lost[0]!=0 || lost[1]!=0 -> proxy(); master(); d_step {
       if :: BIT(lost[pp],mm) && !BIT(restored[pp],mm) && SOURCES(pp,mm) -> resync(pp,mm); printf("ACT proxy %d resynchronises master %d, which holds %d: %d\n",pp,mm,val[mm],BIT(restored[pp],mm))
          :: HORIZON && BIT(lost[pp],mm) && !BIT(restored[pp],mm) && !SOURCES(pp,mm) -> restored[pp]=restored[pp]|(1<<mm); printf("ACT proxy %d: horizon of master %d has passed\n",pp,mm)
          :: else fi; done() } }
  :: atomic { NOISE && NT>0 -> master(); client(); d_step {
       if :: val[mm]==0 && BEGUN(cc) -> val[mm]=cc+1; printf("ACT late SET of %c on master %d\n",'A'+cc,mm)
          :: val[mm]==cc+1 && !granted[cc] && got[cc]==0 -> val[mm]=0; printf("ACT undo of %c on master %d\n",'A'+cc,mm)
          :: else fi; done() } }
  :: d_step { NOISE && got[0]!=0 -> got[0]=0; via[0]=0; oset[0]=0; printf("ACT the round of A ends\n") }
  :: d_step { NOISE && got[1]!=0 -> got[1]=0; via[1]=0; oset[1]=0; printf("ACT the round of B ends\n") }
  :: atomic { losses>0 -> master(); d_step {
       if :: rec[mm]!=NONE || val[mm]!=0 -> crash(mm); printf("ACT master %d restarts empty\n",mm)
          :: else fi; done() } }
  :: d_step { steps>0 && rec[STEPPER]!=NONE -> steps--; val[STEPPER]=0; stepser=SERIAL(ADM(rec[STEPPER],STEPPER)); step[0]=step[0]|(1<<STEPPER); step[1]=step[1]|(1<<STEPPER); bel[0]=bel[0]&~(1<<STEPPER); bel[1]=bel[1]&~(1<<STEPPER); printf("ACT the clock of master %d steps\n",STEPPER) }
  :: atomic { starts>0 -> proxy(); d_step { if :: step[pp]==0 -> startanew(pp) :: else fi; printf("ACT proxy %d starts anew\n",pp); done() } }
  :: atomic { !HORIZON && NT>0 && (granted[0] || granted[1]) -> proxy(); client(); d_step {
       if :: DENIES(pp,cc) -> printf("ACT proxy %d tells %c that the lock is not his\n",pp,'A'+cc); assert(0)
          :: else fi; done() } }
  od
}
