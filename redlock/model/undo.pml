/* Undo, release and tokens that are used again, with the order of each connection (undo.go, stray.go, reliance.go, flight.go, wire.go;
 * design §4.8, §5).  Safety only.
 *
 * One key, three masters that never lose anything, two proxies with one connection to each.  Operations, each started at most once:
 *
 *   0  acquires X through proxy 0, for client 0
 *   1  releases X through proxy 0: client 0 had it, or has given up on operation 0
 *   2  acquires X again through proxy VIA: client 0 tries once more, or (SHARED) another client with the same token
 *
 * Asserted: a client that holds the lock has copies on two masters, and there is only one.  With fewer a rival with another token could
 * get two.  Rivals themselves need no operation: they make operations fail, which they do here at any time anyway.
 *
 *  - What a proxy sends to a master is executed in order, each at any time after it was sent, if ever.  A connection may be lost; what was
 *    not executed then may still be, until the connection is killed at the master, which is the first thing the next one does.
 *  - Answers arrive at any time and in any order; those that nothing was created at once.  What was executed and not answered is lost with the connection.
 *  - Whether a copy is the one that an undo means is decided by its expiry time: all TTLs are equal here, so by when it was made.
 *    An answered acquire knows its own: between sending and the time at the end of its batch there is one (two attempts with a token in one
 *    batch are not told apart; not modelled).  Of one that was lost it is only known that it lies between the ticks of sending and loss.  Clocks are exact; ticks stand for differences that copySkew and drift allow for.
 *  - Copies do not expire and no lock ends by itself; resync.pml has the time of locks.  A tick may happen at any moment.
 *  - A token is used again through another proxy only REST ticks later, as README.md asks for.  A grant, an undo of what was lost and a
 *    release that is executed late take place within a tick of their sending, or of the loss: the slack and the bounds of §4.
 */
#ifndef VIA
#define VIA 0          /* the proxy of operation 2 */
#endif
#ifndef SHARED
#define SHARED 0       /* 1: operation 2 is another client's */
#endif
#ifndef RELEASE
#define RELEASE 1      /* 0: without operation 1 */
#endif
#ifndef LOSSES
#define LOSSES 1       /* connections that are lost */
#endif
#ifndef END
#define END 4          /* ticks */
#endif

/* The rules.  Each may be switched off, with -DRULE=0. */
#ifndef ORDER
#define ORDER 1        /* what one connection sends is executed in order */
#endif
#ifndef KILL
#define KILL 1         /* a lost connection is killed before the next one is used */
#endif
#ifndef CREATED
#define CREATED 1      /* undo only where this attempt created the key, or may have; 0: everywhere, by value */
#endif
#ifndef WINDOW
#define WINDOW 1       /* an undo names the expiry that its copy must have */
#endif
#ifndef LOOK
#define LOOK 1         /* what may have been created is removed only if a quorum does not have the token */
#endif
#ifndef PATIENT
#define PATIENT 1      /* … and that is looked at when rounds that could count the copy have ended */
#endif
#ifndef BOUNDED
#define BOUNDED 1      /* a release is not executed after its deadline */
#endif
#ifndef OVERTAKEN
#define OVERTAKEN 1    /* an acquire is not granted when a release of its token was sent behind it */
#endif
#ifndef SLACK
#define SLACK 1        /* nor later than its slack */
#endif
#ifndef REST
#define REST 2         /* ticks that a token rests before it is used through another proxy */
#endif
#define Q 2
#define NO 0           /* votes: not asked, sent, created, answered so, not created, lost */
#define SENT 1
#define MADE 2
#define YES 3
#define NAY 4
#define UNKNOWN 5

#define UNDO 3         /* messages: operation, UNDO + operation, REMOVE + operation */
#define REMOVE 6
#define READ 9         /* … and READ + 3 * operation + master whose copy it is about */

bit val[3]; byte born[3]; byte by[3];            /* the copy, the tick it was made in, and by which operation, + 1 */
byte now;
byte ph[3]; byte sent[3]; byte use[2];           /* 0 not started, 1 voting, 2 granted, 3 over; last use of X by each proxy, + 1 */
byte vote[9];                                    /* per operation and master */
byte till[9]; byte owed[9];                      /* 1: a copy of its own, 2: one that may have been made, until then */
bit told[3];                                     /* a release was sent behind this acquire */
bit down[6];                                     /* per proxy and master */
byte looked[9]; byte with[9];                    /* masters read, those that have the token */
bit gave; bit holds[3];                          /* client 0 has given up operation 0; whose client holds the lock */
byte losses = LOSSES;
chan line[6] = [8] of { byte };                  /* per proxy and master */
chan zombie[6] = [8] of { byte };                /* the same, of the connection before */
byte i, k, c;                                    /* scratch, 0 between steps */

#define V(o,m) vote[(o)*3+(m)]
#define EXACT 255
#define OW(o,m) owed[(o)*3+(m)]
#define PROXY(o) ((o)==2 -> VIA : 0)
#define L(p,m) ((p)*3+(m))
#define COPIES (val[0]+val[1]+val[2])
#define BITS(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1))
#define HAS(o) ((V(o,0)==YES)+(V(o,1)==YES)+(V(o,2)==YES))

c_decl {
  extern int printf(const char *, ...);
  static int seen_[16];
  #define REACH(k, what) if (!seen_[k]) { seen_[k] = 1; printf("reached: %s\n", what); }
}

/* Sends a message over the connection of p to m. */
inline post(p,m,msg) { if :: !down[L(p,m)] -> line[L(p,m)]!msg :: else -> skip fi }

inline begin(o) {
  ph[o]=1; sent[o]=now;
  use[PROXY(o)]=now+1;
  k=0; do :: k<3 -> V(o,k)=(down[L(PROXY(o),k)] -> NAY : SENT); post(PROXY(o),k,o); k++ :: else -> break od; k=0 }

/* It tells the acquires of its token in its proxy.  A copy that is being looked at is left alone. */
inline release() {
  if :: holds[0] || SHARED -> holds[0]=0 :: else -> holds[2]=0 fi; gave=1;
  told[0]=1; if :: VIA==0 && ph[2]!=0 -> told[2]=1 :: else fi;
  k=0; do :: k<6 -> if :: k<3 && looked[k]!=0 -> over(0,k) :: k>=3 && VIA==0 && looked[6+k-3]!=0 -> over(2,k-3) :: else fi; k++ :: else -> break od;
  begin(1) }

inline over(o,m) { OW(o,m)=0; looked[(o)*3+(m)]=0; with[(o)*3+(m)]=0 }

/* An undo, when it is known that the copy was made, or may have been. */
inline undo(o,m) {
  if :: !CREATED && (V(o,m)==YES || V(o,m)==NAY) -> post(PROXY(o),m,UNDO+o); c_code { REACH(0, "an undo") }
     :: CREATED && V(o,m)==YES && !told[o] -> post(PROXY(o),m,UNDO+o); c_code { REACH(0, "an undo") }
     :: CREATED && V(o,m)==YES && told[o] -> OW(o,m)=1
     :: V(o,m)==UNKNOWN -> OW(o,m)=2
     :: else fi }

inline fail(o) { ph[o]=3; k=0; do :: k<3 -> undo(o,k); k++ :: else -> break od; k=0 }

inline answer(o,m) { V(o,m)=(V(o,m)==MADE -> YES : NAY); if :: o!=1 && ph[o]==3 -> undo(o,m) :: else fi }

inline safe() { assert(!(holds[0] && holds[2]) && (!(holds[0] || holds[2]) || COPIES>=Q)) }

inline grant(o) {
  if :: (told[o] && OVERTAKEN) || (o==0 && gave) -> fail(o)
     :: else -> ph[o]=2; holds[o]=1; if :: o==2 -> c_code { REACH(2, "a second attempt") } :: else fi; safe() fi }

/* What master m does with message c; z: nobody will read the answer. */
inline execute(m,z) {
  if :: c<UNDO && c!=1 ->
        if :: !val[m] -> val[m]=1; born[m]=now; by[m]=c+1; if :: !z -> V(c,m)=MADE :: else -> c_code { REACH(3, "a copy by a dead connection") } fi
           :: else -> if :: !z -> V(c,m)=NAY :: else fi fi
     :: c==1 -> if :: val[m] && (now<=sent[1]+1 || !BOUNDED) -> clear(m); if :: z -> c_code { REACH(4, "a release by a dead connection") } :: else fi :: else fi;
        if :: !z -> V(c,m)=NAY :: else fi
     :: c>=UNDO && c<REMOVE -> if :: val[m] && (!WINDOW || !CREATED || by[m]==c-UNDO+1) -> clear(m) :: else fi
     :: c>=READ -> if :: !z && looked[c-READ]!=0 -> looked[c-READ]=looked[c-READ]|(1<<m); if :: val[m] -> with[c-READ]=with[c-READ]|(1<<m) :: else fi :: else fi
     :: c>=REMOVE && c<READ -> if :: val[m] && (!WINDOW || (till[(c-REMOVE)*3+m]==EXACT -> by[m]==c-REMOVE+1 : born[m]>=sent[c-REMOVE] && born[m]<=till[(c-REMOVE)*3+m])) -> clear(m); c_code { REACH(5, "a removal") } :: else fi
  fi; c=0 }
inline clear(m) { val[m]=0; born[m]=0; by[m]=0; safe() }

inline lose(p,m) {
  losses--; down[L(p,m)]=1;
  do :: len(line[L(p,m)])>0 -> line[L(p,m)]?c; zombie[L(p,m)]!c :: else -> break od; c=0;
  i=0; do :: i<3 ->
     if :: PROXY(i)==p && V(i,m)>=SENT && V(i,m)<=MADE -> V(i,m)=UNKNOWN; till[i*3+m]=now; if :: i!=1 && ph[i]==3 -> undo(i,m) :: else fi :: else fi;
     i++ :: else -> break od; i=0 }

inline connect(p,m) { down[L(p,m)]=0; if :: KILL -> do :: len(zombie[L(p,m)])>0 -> zombie[L(p,m)]?c :: else -> break od; c=0 :: else fi }

inline look(o,m) { looked[(o)*3+(m)]=8; k=0; do :: k<3 -> post(PROXY(o),k,READ+(o)*3+(m)); k++ :: else -> break od; k=0 }
inline settle(o,m) {
  if :: BITS(with[(o)*3+(m)])>=Q -> c_code { REACH(6, "a copy that is somebody's lock") }
     :: else -> if :: OW(o,m)==1 -> till[(o)*3+(m)]=EXACT :: else fi; post(PROXY(o),m,REMOVE+o)
  fi; over(o,m) }

#define RESTED(p) (use[1-(p)]==0 || now+1>use[1-(p)]+REST)
#define READY(o,m) (OW(o,m)!=0 && !down[L(PROXY(o),m)] && (OW(o,m)==1 || !PATIENT || !LOOK || now>till[(o)*3+(m)]+1))
#define ABSENT(o,m) (BITS(7&looked[(o)*3+(m)]&~with[(o)*3+(m)])>=2)

#define A_BEGIN0     :: d_step { ph[0]==0 -> begin(0); printf("ACT client 0 acquires X\n") }
#define A_BEGIN1     :: d_step { RELEASE && ph[1]==0 && ph[0]!=0 && RESTED(0) && (SHARED -> holds[0] : ((holds[0] || holds[2] || ph[0]!=2) && ph[2]!=1)) -> release(); printf("ACT client 0 releases X\n") }
#define A_BEGIN2     :: d_step { ph[2]==0 && ph[0]!=0 && RESTED(VIA) && (SHARED || !holds[0]) -> if :: !SHARED -> gave=1 :: else fi; begin(2); printf("ACT X is acquired again\n") }
#define A_FAIL(o)    :: d_step { ph[o]==1 -> fail(o); printf("ACT operation %d fails\n",o) }
#define A_GRANT(o)   :: d_step { ph[o]==1 && HAS(o)>=Q && (now<=sent[o]+1 || !SLACK) -> grant(o); printf("ACT operation %d: granted %d\n",o,ph[o]==2) }
#define A_ANSWER(o,m):: d_step { V(o,m)==MADE -> answer(o,m); printf("ACT answer of master %d to %d: %d\n",m,o,V(o,m)) }
#define A_RUN(p,m)   :: d_step { len(line[L(p,m)])>0 -> line[L(p,m)]?c; printf("ACT master %d executes %d of proxy %d\n",m,c,p); execute(m,0) }
#define A_ANY(p,m,msg) :: d_step { !ORDER && line[L(p,m)]??[msg] -> line[L(p,m)]??msg; c=msg; printf("ACT master %d executes %d of proxy %d\n",m,c,p); execute(m,0) }
#define A_ZOMBIE(p,m):: d_step { len(zombie[L(p,m)])>0 -> zombie[L(p,m)]?c; printf("ACT master %d executes %d of a lost connection\n",m,c); execute(m,1) }
#define A_LOSE(p,m)  :: d_step { losses>0 && m==0 && !down[L(p,m)] -> lose(p,m); printf("ACT proxy %d loses master %d\n",p,m) }
#define A_CONNECT(p,m) :: d_step { down[L(p,m)] -> connect(p,m); printf("ACT proxy %d has master %d again\n",p,m) }
#define A_LOOK(o,m)   :: d_step { LOOK && READY(o,m) && looked[(o)*3+(m)]==0 -> look(o,m); printf("ACT operation %d looks after its copy on master %d\n",o,m) }
#define A_SETTLE(o,m) :: d_step { READY(o,m) && (!LOOK || ABSENT(o,m) || BITS(with[(o)*3+(m)])>=Q) -> settle(o,m); printf("ACT operation %d settles its copy on master %d\n",o,m) }

#define PER_PM(p,m) A_RUN(p,m) A_ZOMBIE(p,m) A_LOSE(p,m) A_CONNECT(p,m) A_ANY(p,m,0) A_ANY(p,m,1) A_ANY(p,m,2) A_ANY(p,m,3) A_ANY(p,m,5) A_ANY(p,m,6) A_ANY(p,m,8)
#define PER_OM(o,m) A_ANSWER(o,m) A_LOOK(o,m) A_SETTLE(o,m)
#define PER_O(o) A_FAIL(o) A_GRANT(o) PER_OM(o,0) PER_OM(o,1) PER_OM(o,2)

active proctype Run() {
  do
  A_BEGIN0 A_BEGIN1 A_BEGIN2
  PER_O(0) PER_O(2)
  PER_PM(0,0) PER_PM(0,1) PER_PM(0,2)
#if VIA==1
  PER_PM(1,0) PER_PM(1,1) PER_PM(1,2)
#endif
  :: d_step { now<END -> now++; printf("ACT tick %d: masters hold %d %d %d\n",now,val[0],val[1],val[2]) }
  od
}
