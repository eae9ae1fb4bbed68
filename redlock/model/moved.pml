/* An address that comes to lead to another server while the old one lives on (admission.go, record.go, standing.go, steward.go, restore.go,
 * seats.go).  Safety only.
 *
 * N places, each with its first master, and NEW further servers, which are empty: at place 0, the second one at place 1 with SECOND.  Two
 * proxies.  What an address leads to is any of the servers of its place, anew with each connection, and differs between the proxies; connections
 * are lost and opened at any time, so that a proxy may be without any of the masters for as long as it likes.
 *
 * Asserted: clients A and B never both get the lock, which does not expire here (but for HORIZON).
 *
 * Abstractions:
 *  - A proxy decides (convene) at any time from what it has seen of the records, and writes them one by one, by compare-and-swap, as late as it
 *    likes.  records.pml has the details of that: whose record is gone, what is expected of a batch, and first starts.
 *  - The SET of a round, the end of its batch and its judgement are one step per master.  A later judgement finds no more votes: what a proxy
 *    decides meanwhile ends rounds.  A round begins with its first vote, and ends when it is granted, when the seats change, or when a
 *    restoration has waited for it.  Otherwise it may go on for ever.
 *  - Copies of a round that has ended vanish at once, with NOISE at any time.
 *  - A restoration waits, reads one master after the other (with ATOMIC: all at once), and copies: resync.pml has the rest of the rules.
 *  - A clock that steps is only a withdrawal of an admission, of a master that has lost nothing.
 *  - Only the admissions of places 0 to V-1 are in the records: the others do not change.  Serial numbers end at MOST.
 *  - The proxies are alike: the first to reach a new server is proxy 0.
 */
#ifndef N
#define N 3
#endif
#define Q (N/2+1)
#define PEERS (N-Q+1)
#ifndef NEW
#define NEW 1          /* new servers */
#endif
#ifndef SECOND
#define SECOND 0       /* 1: the second one at place 1 */
#endif
#ifndef DROPS
#define DROPS 0        /* losses of connections to the places whose servers do not change; those to others are not limited */
#endif
#ifndef FLUSHES
#define FLUSHES 0      /* masters of place 0 that are emptied and keep their connections */
#endif
#ifndef WITHDRAWALS
#define WITHDRAWALS 0  /* admissions of place 0 that are withdrawn */
#endif
#ifndef RESTARTS
#define RESTARTS 0     /* 1: the first master of place 0 restarts; all masters persist every write */
#endif
#ifndef HORIZON
#define HORIZON 0      /* 1: without enough peers a master is admitted when every lock from before its loss is over */
#endif
#ifndef NOISE
#define NOISE 0        /* 1: copies of a round that has ended vanish later, not at once */
#endif
#ifndef BOTH
#define BOTH 1         /* 0: proxy 1 does not reach new servers */
#endif
#ifndef ATOMIC
#define ATOMIC 0
#endif
#ifndef FLIP
#define FLIP 0         /* 1: of equal serials those of the first masters are the newer */
#endif
#ifndef BEGIN
#define BEGIN 0        /* what has happened before:
                        * 1: a new server has got place 0, which proxy 1 does not know
                        * 2: server 0 was emptied, and proxy 1, which does not reach master 1, has restored it; proxy 0, which reaches a new server,
                        *    did not know that when it claimed the place
                        * 3: proxy 0 has claimed the place for a new server and restored it; then proxy 1 has claimed it for another one, which was admitted
                        * 4: the admission of server 0 was withdrawn; proxy 0 has restored a new server, and proxy 1 server 0; since then they have lost
                        *    their connections to master 2 and to master 1 (only with -DCLAIMGONE=0) */
#endif
#ifndef MOST
#define MOST 4
#endif

/* The rules.  Each may be switched off, with -DRULE=0. */
#ifndef CLAIM
#define CLAIM 1        /* a place is claimed before its new server is restored */
#endif
#ifndef ENOUGH
#define ENOUGH 1       /* … and other masters have the claim */
#endif
#ifndef KNOWN
#define KNOWN 1        /* … those that are read */
#endif
#ifndef DEPOSES
#define DEPOSES 1      /* a vote does not count when its record takes another master's */
#endif
#ifndef TIES
#define TIES 1         /* … by what is newer, if only by the rule for equal serials */
#endif
#ifndef RESEAT
#define RESEAT 1       /* rounds from before that was learnt get no more votes */
#endif
#ifndef WAIT
#define WAIT 1         /* a restoration waits until rounds from before it have ended */
#endif
#ifndef ANSWERS
#define ANSWERS 1      /* a restoration is good for the one loss that it answers */
#endif
#ifndef SAMECLAIM
#define SAMECLAIM 1    /* … which is the same serial and the same claim */
#endif
#ifndef CLAIMGONE
#define CLAIMGONE 1    /* a place whose admission was withdrawn is claimed, too */
#endif
#ifndef TAKEN
#define TAKEN 1        /* a server whose place another one has stays out */
#endif
#ifndef LATEST
#define LATEST 1       /* who kept everything is admitted only if its record has the admission in force */
#endif
#ifndef VOUCH
#define VOUCH 1        /* what was read counts only if the master still votes then */
#endif

#define M (N+NEW)
#define V (1+SECOND)
#define PL(s) ((s)<N -> (s) : ((s)==N -> 0 : SECOND))

/* An admission is serial * 16 + what it names: a life, a claim of one, or none.  Of equal serials the larger is the newer.  A record is V of them. */
#define LIFE(n) (FLIP -> 3-(n) : (n))
#define CLAIMOF(l) (4+(l))
#define GONE 8
#define NONE -1
#define WIDTH 7
#define ADM(r,k) (((r)>>(WIDTH*(k)))&127)
#define PUT(r,k,a) (((r)&~(127<<(WIDTH*(k))))|((a)<<(WIDTH*(k))))
#define SERIAL(a) ((a)>>4)
#define WHAT(a) ((a)&15)
#define ISLIFE(a) (WHAT(a)<4)
#define ISCLAIM(a) (WHAT(a)>=4 && WHAT(a)<8)
#define UP(a,w) ((SERIAL(a)+1)*16+(w))
#define FIRST (16+LIFE(0))

short rec[M]; byte val[M];                       /* the record; 0 or A (1) or B (2) */
bit again;                                       /* the first master of place 0 is in its second life */
byte con[2*N]; bit dead[2*N]; short raw[2*N];    /* server + 1; it has restarted and the proxy has not noticed; the record as last seen */
short adm[2]; byte vot[2]; byte todo[2];         /* as last decided: admissions, who votes, whose record is to be written */
byte clm[2*V];                                   /* the serial by which this connection claimed the place */
byte rs[2*V]; byte ans[2*V]; byte kn[2*V];       /* restoration: 1 waits, 2 reads, 3 done; of which loss; who knows of it */
byte rd[2*V]; byte rv[2*V];                      /* … masters read, and what they have */
byte ph[2]; byte via[2]; byte got[2]; byte old[2]; /* clients: 1 in a round, 2 has the lock; proxy, votes; restorations that wait for it */
byte ask; bit moved; byte flushes = FLUSHES; byte withdrawals = WITHDRAWALS; byte restarts = RESTARTS; byte drops = DROPS;
short mg, r; byte pp, i, j, k, n, a, id, tk, out, lost, fresh; bit known, ok, own; /* scratch, 0 between steps */

#define X(p,m) ((p)*N+(m))
#define Y(p,m) ((p)*V+(m))
#define BIT(b,m) (((b)>>(m))&1)
#define CNT(b) (((b)&1)+(((b)>>1)&1)+(((b)>>2)&1)+(((b)>>3)&1)+(((b)>>4)&1))
#define OPEN(p,m) (con[X(p,m)]!=0)
#define ALIVE(p,m) (con[X(p,m)]!=0 && !dead[X(p,m)])
#define AT(p,m) (con[X(p,m)]-1)
/* The life that the server on a connection had when it was opened. */
#define LIFEAT(p,m) (AT(p,m)>=N -> LIFE(2+AT(p,m)-N*1-(SECOND && AT(p,m)>N)) : LIFE((m)==0 && again && !dead[X(p,m)]))

c_decl {
  extern int printf(const char *, ...);
  static int seen_[16];
  #define REACH(k, what) if (!seen_[k]) { seen_[k] = 1; printf("reached: %s\n", what); }
}

/* Whether record x takes the vote of a master that has it by record y. */
#define DEPOSED1(x,y,k) (ISLIFE(ADM(y,k)) && WHAT(ADM(x,k))!=WHAT(ADM(y,k)) && (TIES -> ADM(x,k)>ADM(y,k) : SERIAL(ADM(x,k))>SERIAL(ADM(y,k))))
#if V==1
#define TAKES(x,y) DEPOSED1(x,y,0)
#else
#define TAKES(x,y) (DEPOSED1(x,y,0) || DEPOSED1(x,y,1))
#endif

/* Whether the end of a batch of p at master m lets it vote. */
#define JUDGE(p,m) (ALIVE(p,m) && BIT(vot[p],m) && rec[AT(p,m)]!=NONE && !(DEPOSES && TAKES(rec[AT(p,m)],adm[p])) && \
  ((m)>=V || ADM(rec[AT(p,m)],(m)%V)==ADM(adm[p],(m)%V)))

inline endround(c) {
  got[c]=0; ph[c]=0; via[c]=0; old[c]=0;
  k=0; do :: !NOISE && k<M -> if :: val[k]==c+1 -> val[k]=0 :: else fi; k++ :: else -> break od; k=0 }
inline endsync(p,m) { rs[Y(p,m)]=0; ans[Y(p,m)]=0; kn[Y(p,m)]=0; rd[Y(p,m)]=0; rv[Y(p,m)]=0;
  old[0]=old[0]&~(1<<Y(p,m)); old[1]=old[1]&~(1<<Y(p,m)) }
inline reread(p,m) { rd[Y(p,m)]=0; rv[Y(p,m)]=0 }

/* The other masters that have the merged admission of place x, in n; ok if that is enough. */
inline loss(p,x) {
  n=0; ok=1;
  j=0; do :: j<N ->
     if :: j!=x && OPEN(p,j) && raw[X(p,j)]!=NONE && !BIT(tk,j) ->
           if :: ADM(raw[X(p,j)],x)==ADM(mg,x) -> n=n|(1<<j) :: else -> ok=0 fi
        :: else fi;
     j++ :: else -> break od; j=0;
  if :: CNT(n)>=PEERS || !ENOUGH -> ok=1 :: else fi }

inline name(x,w) { if :: SERIAL(ADM(mg,x))<MOST -> mg=PUT(mg,x,UP(ADM(mg,x),w)) :: else -> out=out|(1<<x) fi }

/* deposed, of all places. */
inline findtaken(p) {
  i=0; do :: i<V ->
     if :: TAKEN && OPEN(p,i) ->
           a=ADM(mg,i); id=LIFEAT(p,i); r=raw[X(p,i)];
           if :: a!=0 && WHAT(a)!=GONE && WHAT(a)!=id && WHAT(a)!=CLAIMOF(id) &&
                 ((clm[Y(p,i)]>0 && SERIAL(a)>=clm[Y(p,i)]) || (r!=NONE && WHAT(ADM(r,i))==id && (TIES -> a>ADM(r,i) : SERIAL(a)>SERIAL(ADM(r,i))))) ->
                 tk=tk|(1<<i); c_code { REACH(0, "a server whose place another one has") }
              :: else fi
        :: else fi;
     i++ :: else -> break od; i=0; a=0; id=0; r=0 }

/* judge; w: the admission of place 0 is withdrawn. */
inline judge(p,w) {
  i=0; do :: i<V && OPEN(p,i) ->
     a=ADM(mg,i); id=LIFEAT(p,i); r=raw[X(p,i)]; own=(WHAT(a)==id);
     loss(p,i); n=0;
     if :: rs[Y(p,i)]==3 && ok && !(own && r!=NONE) && (!ANSWERS || SERIAL(ans[Y(p,i)])==SERIAL(a)) && (!SAMECLAIM || !ANSWERS || ans[Y(p,i)]==a) ->
           name(i,id); fresh=fresh|(1<<i); endsync(p,i); c_code { REACH(1, "an admission after a restoration") }
        :: else ->
           if :: BIT(tk,i) -> out=out|(1<<i)
              :: !BIT(tk,i) && WHAT(a)==CLAIMOF(id) -> lost=lost|(1<<i)
              :: !BIT(tk,i) && WHAT(a)!=CLAIMOF(id) && (ISCLAIM(a) || (ISLIFE(a) && !own && (r==NONE || !RESTARTS || (LATEST && ADM(r,i)!=a)))) ->
                 lost=lost|(1<<i);
                 if :: CLAIM -> name(i,CLAIMOF(id)); clm[Y(p,i)]=SERIAL(ADM(mg,i)); if :: ISCLAIM(a) -> c_code { REACH(2, "a place that two servers claim") } :: else fi :: else fi
              :: !BIT(tk,i) && own && r==NONE -> lost=lost|(1<<i); c_code { REACH(3, "a master that was emptied") }
              :: !BIT(tk,i) && own && r!=NONE && w && i==0 -> name(0,GONE); out=out|1; c_code { REACH(4, "a withdrawal") }
              :: !BIT(tk,i) && own && r!=NONE && !(w && i==0) -> skip
              :: !BIT(tk,i) && WHAT(a)==GONE -> lost=lost|(1<<i);
                 if :: CLAIMGONE && CLAIM -> name(i,CLAIMOF(id)); clm[Y(p,i)]=SERIAL(ADM(mg,i)) :: else fi
              :: else -> name(i,id); c_code { REACH(5, "an admission of a master that kept everything") }
           fi
     fi;
     i++
  :: i<V && !OPEN(p,i) -> i++
  :: else -> break od; i=0; a=0; id=0; r=0; own=0; ok=0 }

/* count: who votes. */
inline count(p) {
  vot[p]=0;
  i=0; do :: i<N ->
     if :: OPEN(p,i) && raw[X(p,i)]!=NONE && !BIT(out,i) && !BIT(lost,i) && (i>=V || ADM(raw[X(p,i)],i%V)==ADM(mg,i%V)) ->
           n=0; j=0; do :: j<N -> if :: OPEN(p,j) && raw[X(p,j)]!=NONE && !BIT(tk,j) && (i>=V || ADM(raw[X(p,j)],i%V)==ADM(mg,i%V)) -> n++ :: else fi; j++ :: else -> break od; j=0;
           if :: n>=Q -> vot[p]=vot[p]|(1<<i) :: else fi; n=0
        :: else fi;
     i++ :: else -> break od; i=0 }

/* take: rounds and restorations from before end if a master has lost its vote. */
inline take(p) {
  if :: RESEAT && TAKES(mg,adm[p]) ->
        i=0; do :: i<2 -> if :: ph[i]==1 && via[i]==p -> c_code { REACH(6, "a round that begins anew") }; endround(i) :: else fi; i++ :: else -> break od; i=0;
        i=0; do :: i<V -> endsync(p,i); i++ :: else -> break od; i=0
     :: else fi }

inline tend(p) {
  i=0; do :: i<V ->
     loss(p,i);
     if :: rs[Y(p,i)]!=0 && (!BIT(lost,i) || !ok || (ANSWERS && SERIAL(ans[Y(p,i)])!=SERIAL(ADM(mg,i))) || (ANSWERS && SAMECLAIM && ans[Y(p,i)]!=ADM(mg,i))) -> endsync(p,i) :: else fi;
     if :: rs[Y(p,i)]==0 && BIT(lost,i) && ok && OPEN(p,i) -> rs[Y(p,i)]=1; ans[Y(p,i)]=ADM(mg,i);
           j=0; do :: j<2 -> if :: ph[j]==1 || (HORIZON && ph[j]==2) -> old[j]=old[j]|(1<<Y(p,i)) :: else fi; j++ :: else -> break od; j=0
        :: else fi;
     if :: rs[Y(p,i)]!=0 -> kn[Y(p,i)]=(KNOWN -> n : (1<<N)-1); if :: (rd[Y(p,i)]&~kn[Y(p,i)])!=0 -> reread(p,i) :: else fi :: else fi;
     n=0; ok=0;
     i++ :: else -> break od; i=0 }

/* seen: the masters whose records are read before. */
inline decide(p,w,seen) {
  mg=0;
  i=0; do :: i<N -> if :: BIT(seen,i) && ALIVE(p,i) -> raw[X(p,i)]=rec[AT(p,i)] :: else fi; i++ :: else -> break od; i=0;
  i=0; do :: i<N ->
     if :: OPEN(p,i) && raw[X(p,i)]!=NONE -> known=1;
           k=0; do :: k<V -> if :: ADM(raw[X(p,i)],k)>ADM(mg,k) -> mg=PUT(mg,k,ADM(raw[X(p,i)],k)) :: else fi; k++ :: else -> break od; k=0
        :: else fi;
     i++ :: else -> break od; i=0;
  if :: known -> findtaken(p); judge(p,w); count(p)
     :: else -> mg=adm[p]; vot[p]=0 fi;
  take(p); adm[p]=mg; tend(p);
  todo[p]=0;
  i=0; do :: i<N ->
     if :: known && OPEN(p,i) && !BIT(tk,i) && raw[X(p,i)]!=mg && (raw[X(p,i)]!=NONE || BIT(fresh,i)) -> todo[p]=todo[p]|(1<<i) :: else fi;
     i++ :: else -> break od; i=0;
  mg=0; known=0; tk=0; out=0; lost=0; fresh=0 }

inline close(p,m) {
  con[X(p,m)]=0; dead[X(p,m)]=0; raw[X(p,m)]=NONE; vot[p]=vot[p]&~(1<<m); todo[p]=todo[p]&~(1<<m);
  if :: m<V -> clm[Y(p,m%V)]=0; endsync(p,m%V) :: else fi;
  k=0; do :: k<V -> if :: BIT(rd[Y(p,k)],m) -> reread(p,k) :: else fi; k++ :: else -> break od; k=0 }
inline open(p,m,s) { con[X(p,m)]=s+1; raw[X(p,m)]=rec[s]; if :: s>=N -> moved=1 :: else fi }

inline write(p,m) {
  todo[p]=todo[p]&~(1<<m);
  if :: dead[X(p,m)] -> close(p,m)
     :: !dead[X(p,m)] && rec[AT(p,m)]==raw[X(p,m)] -> rec[AT(p,m)]=adm[p]; raw[X(p,m)]=adm[p]
     :: else -> raw[X(p,m)]=rec[AT(p,m)]; c_code { REACH(7, "a record that another proxy has changed") } fi }

inline vote(p,m,c) {
  if :: ph[c]==0 -> ph[c]=1; via[c]=p :: else fi;
  val[AT(p,m)]=c+1; got[c]=got[c]|(1<<m);
  if :: CNT(got[c])>=Q -> ph[c]=2; got[c]=0; via[c]=0;
        if :: m==0 && AT(p,m)>=N -> c_code { REACH(8, "a lock that a new server has voted for") } :: else fi;
        assert(!(ph[0]==2 && ph[1]==2))
     :: else fi }

inline waited(p,m) {
  rs[Y(p,m)]=2;
  i=0; do :: i<2 -> if :: WAIT && ph[i]==1 && BIT(old[i],Y(p,m)) -> endround(i) :: else fi; if :: !HORIZON -> old[i]=old[i]&~(1<<Y(p,m)) :: else fi; i++ :: else -> break od; i=0 }

inline scan(p,m,s) {
  if :: val[AT(p,s)]!=0 && rv[Y(p,m)]!=0 && rv[Y(p,m)]!=val[AT(p,s)] -> reread(p,m); c_code { REACH(9, "masters that disagree") }
     :: else -> rd[Y(p,m)]=rd[Y(p,m)]|(1<<s); rv[Y(p,m)]=rv[Y(p,m)]|val[AT(p,s)] fi }

inline copy(p,m) {
  ok=1;
  i=0; do :: i<N -> if :: BIT(rd[Y(p,m)],i) && VOUCH && !JUDGE(p,i) -> ok=0 :: else fi; i++ :: else -> break od; i=0;
  if :: ok && (val[AT(p,m)]==0 || rv[Y(p,m)]==0 || val[AT(p,m)]==rv[Y(p,m)]) ->
        if :: rv[Y(p,m)]!=0 -> c_code { REACH(10, "a lock is copied") } :: else fi;
        val[AT(p,m)]=val[AT(p,m)]|rv[Y(p,m)]; rs[Y(p,m)]=3 :: else fi;
  reread(p,m); ok=0 }

inline outlast(p,m) {
  rs[Y(p,m)]=3;
  i=0; do :: i<2 ->
     if :: BIT(old[i],Y(p,m)) -> endround(i); k=0; do :: k<M -> if :: val[k]==i+1 -> val[k]=0 :: else fi; k++ :: else -> break od; k=0 :: else fi;
     i++ :: else -> break od; i=0 }

/* Its restorations begin anew: the marker is gone. */
inline flush(s) {
  flushes--; val[s]=0; rec[s]=NONE;
  i=0; do :: i<2 -> if :: con[X(i,0)]==s+1 -> todo[i]=todo[i]&~1; endsync(i,0) :: else fi; i++ :: else -> break od; i=0 }
inline restart() {
  restarts--; again=1;
  i=0; do :: i<2 -> if :: con[X(i,0)]==1 -> dead[X(i,0)]=1 :: else fi; i++ :: else -> break od; i=0 }

#define READY(p,m) (rs[Y(p,m)]==2 && CNT(vot[p]&kn[Y(p,m)]&~(1<<(m)))>=PEERS)
#define BEGUN (ph[0]!=0 || val[0]==1 || val[1]==1 || val[2]==1)

#define A_OPEN(p,m,s) :: d_step { IDLE && con[X(p,m)]==0 && ((s)<N || (p)==0 || (BOTH && moved)) -> open(p,m,s); printf("ACT proxy %d reaches server %d at place %d, record %x\n",p,s,m,raw[X(p,m)]) }
#define A_CLOSE(p,m)  :: d_step { IDLE && con[X(p,m)]!=0 && ((m)<V || drops>0 || dead[X(p,m)]) -> if :: (m)>=V && !dead[X(p,m)] -> drops-- :: else fi; close(p,m); printf("ACT proxy %d loses its connection to place %d\n",p,m) }
#define NEWS1(p,m,seen) (!BIT(seen,m) || (ALIVE(p,(m)%N) && raw[X(p,(m)%N)]!=rec[AT(p,(m)%N)]))
#define NEWS(p,seen) (NEWS1(p,0,seen) && NEWS1(p,1,seen) && NEWS1(p,2,seen) && NEWS1(p,3,seen) && NEWS1(p,4,seen))
/* A look at the records of some masters, which have news, and what is decided then: two steps, with nothing between them. */
#define IDLE (ask==0)
#define A_LOOK(p,seen) :: d_step { IDLE && todo[p]==0 && NEWS(p,seen) -> ask=1+(p)+4*(seen) }
#define A_WITHDRAW(p) :: d_step { IDLE && todo[p]==0 && withdrawals>0 && BIT(vot[p],0) -> withdrawals--; ask=3+(p) }
#define DECIDE        :: d_step { ask!=0 -> ask--; pp=ask%2; decide(pp,(ask&2)!=0,ask/4); \
  printf("ACT proxy %d sees %d and decides: admissions %x, votes %d, writes to %d, restoration %d\n",pp,ask/4,adm[pp],vot[pp],todo[pp],rs[Y(pp,0)]); ask=0; pp=0 }
#define A_WRITE(p,m)  :: d_step { IDLE && BIT(todo[p],m) -> printf("ACT proxy %d writes to server %d: %d\n",p,AT(p,m),!dead[X(p,m)] && rec[AT(p,m)]==raw[X(p,m)]); write(p,m) }
#define A_VOTE(p,m,c) :: d_step { IDLE && JUDGE(p,m) && val[AT(p,m)]==0 && (ph[c]==0 || (ph[c]==1 && via[c]==p && !BIT(got[c],m))) && ((c)==0 || BEGUN) -> printf("ACT %c via proxy %d: server %d votes\n",'A'+c,p,AT(p,m)); vote(p,m,c) }
#define A_UNDO(s)     :: d_step { IDLE && val[s]!=0 && ph[val[s]-1]==0 -> val[s]=0; printf("ACT a copy on server %d is undone\n",s) }
#define A_WAITED(p,m) :: d_step { IDLE && rs[Y(p,m)]==1 -> waited(p,m); printf("ACT proxy %d has waited for rounds to end\n",p) }
#define A_SCAN(p,m,s) :: d_step { IDLE && (m)!=(s) && READY(p,m) && CNT(rd[Y(p,m)])<PEERS && !BIT(rd[Y(p,m)],s) && BIT(vot[p]&kn[Y(p,m)],s) && ALIVE(p,s) -> scan(p,m,s); printf("ACT proxy %d reads server %d: %d\n",p,AT(p,s),val[AT(p,s)]) }
#define A_COPY(p,m)   :: d_step { IDLE && rs[Y(p,m)]==2 && CNT(rd[Y(p,m)])>=PEERS && ALIVE(p,m) -> copy(p,m); printf("ACT proxy %d copies to server %d, which holds %d: %d\n",p,AT(p,m),val[AT(p,m)],rs[Y(p,m)]) }
#define A_SYNC(p,m)   :: d_step { IDLE && READY(p,m) && ALIVE(p,m) -> \
  n=0; j=0; do :: j<N -> if :: j!=m && BIT(vot[p]&kn[Y(p,m)],j) && ALIVE(p,j) && CNT(rd[Y(p,m)])<PEERS && n==0 -> scan(p,m,j); if :: !BIT(rd[Y(p,m)],j) -> n=1 :: else fi :: else fi; j++ :: else -> break od; j=0; n=0; \
  if :: CNT(rd[Y(p,m)])>=PEERS -> copy(p,m) :: else -> reread(p,m) fi; printf("ACT proxy %d reads all and copies to server %d, which holds %d: %d\n",p,AT(p,m),val[AT(p,m)],rs[Y(p,m)]) }
#define A_OUTLAST(p,m) :: d_step { IDLE && rs[Y(p,m)]==2 && !READY(p,m) -> outlast(p,m); printf("ACT proxy %d: every lock from before the loss of place %d is over\n",p,m) }
#define A_FLUSH(s)    :: d_step { IDLE && flushes>0 && rec[s]!=NONE -> flush(s); printf("ACT server %d is emptied\n",s) }
#define A_RESTART     :: d_step { IDLE && restarts>0 -> restart(); printf("ACT server 0 restarts with everything\n") }

#define PER_PM(p,m) A_OPEN(p,m,m) A_CLOSE(p,m) A_WRITE(p,m) A_VOTE(p,m,0) A_VOTE(p,m,1)
#if N==5
#define SCANS(p,k) A_SCAN(p,k,0) A_SCAN(p,k,1) A_SCAN(p,k,2) A_SCAN(p,k,3) A_SCAN(p,k,4)
#define PLACES(p) PER_PM(p,0) PER_PM(p,1) PER_PM(p,2) PER_PM(p,3) PER_PM(p,4)
#else
#define SCANS(p,k) A_SCAN(p,k,0) A_SCAN(p,k,1) A_SCAN(p,k,2)
#define PLACES(p) PER_PM(p,0) PER_PM(p,1) PER_PM(p,2)
#endif
#if ATOMIC
#define READS(p,k) A_SYNC(p,k)
#else
#define READS(p,k) SCANS(p,k) A_COPY(p,k)
#endif
#if HORIZON
#define SYNC(p,k) A_WAITED(p,k) READS(p,k) A_OUTLAST(p,k)
#else
#define SYNC(p,k) A_WAITED(p,k) READS(p,k)
#endif
#if N==5
#define LOOKS8(p,b) A_LOOK(p,b) A_LOOK(p,b+1) A_LOOK(p,b+2) A_LOOK(p,b+3) A_LOOK(p,b+4) A_LOOK(p,b+5) A_LOOK(p,b+6) A_LOOK(p,b+7)
#define LOOKS(p) LOOKS8(p,0) LOOKS8(p,8) LOOKS8(p,16) LOOKS8(p,24)
#else
#define LOOKS(p) A_LOOK(p,0) A_LOOK(p,1) A_LOOK(p,2) A_LOOK(p,3) A_LOOK(p,4) A_LOOK(p,5) A_LOOK(p,6) A_LOOK(p,7)
#endif
#define PER_P(p) LOOKS(p) A_WITHDRAW(p) PLACES(p) SYNC(p,0) A_OPEN(p,0,N)

active proctype Run() {
  d_step {
    mg=0; i=0; do :: i<V -> mg=PUT(mg,i,FIRST); i++ :: else -> break od;
    i=0; do :: i<M -> rec[i]=(i<N -> mg : NONE); i++ :: else -> break od;
    i=0; do :: i<2*N -> con[i]=i%N+1; raw[i]=mg; i++ :: else -> break od;
    adm[0]=mg; adm[1]=mg; vot[0]=(1<<N)-1; vot[1]=(1<<N)-1; i=0; mg=0 }
#if BEGIN==1
  d_step {
    moved=1; con[X(0,0)]=N+1; adm[0]=3*16+LIFE(2); i=0;
    do :: i<=N -> if :: i>0 -> rec[i]=adm[0] :: else fi; if :: i<N -> raw[X(0,i)]=adm[0] :: else fi; i++ :: else -> break od; i=0 }
#elif BEGIN==2
  d_step {
    moved=1; con[X(0,0)]=N+1; raw[X(0,0)]=NONE; vot[0]=vot[0]-1; adm[0]=2*16+CLAIMOF(LIFE(2)); clm[Y(0,0)]=2;
    adm[1]=2*16+LIFE(0); rec[0]=adm[1]; raw[X(1,0)]=adm[1]; raw[X(1,2)]=adm[1]; con[X(1,1)]=0; raw[X(1,1)]=NONE; vot[1]=vot[1]-2;
    i=1; do :: i<N -> rec[i]=adm[0]; raw[X(0,i)]=adm[0]; i++ :: else -> break od; i=0 }
#elif BEGIN==3
  d_step {
    moved=1; con[X(0,0)]=N+1; raw[X(0,0)]=NONE; vot[0]=vot[0]-1; adm[0]=2*16+CLAIMOF(LIFE(2)); clm[Y(0,0)]=2; rs[Y(0,0)]=3; ans[Y(0,0)]=adm[0]; kn[Y(0,0)]=(1<<N)-2;
    con[X(1,0)]=N+2; adm[1]=4*16+LIFE(3); raw[X(1,0)]=adm[1]; rec[M-1]=adm[1]; i=1;
    do :: i<N -> rec[i]=adm[1]; raw[X(1,i)]=adm[1]; raw[X(0,i)]=adm[0]; i++ :: else -> break od; i=0 }
#elif BEGIN==4
  d_step {
    moved=1; con[X(0,0)]=N+1; vot[0]=vot[0]-1; vot[1]=vot[1]-1; adm[0]=2*16+GONE; adm[1]=adm[0]; i=0;
    do :: i<N -> rec[i]=adm[0]; raw[X(0,i)]=adm[0]; raw[X(1,i)]=adm[0]; i++ :: else -> break od; raw[X(0,0)]=NONE;
    rs[Y(0,0)]=3; rs[Y(1,0)]=3; ans[Y(0,0)]=adm[0]; ans[Y(1,0)]=adm[0]; kn[Y(0,0)]=(1<<N)-2; kn[Y(1,0)]=(1<<N)-2;
    con[X(0,2)]=0; raw[X(0,2)]=NONE; vot[0]=2; con[X(1,1)]=0; raw[X(1,1)]=NONE; vot[1]=4; i=0 }
#endif
  do
  DECIDE PER_P(0) PER_P(1)
#if SECOND
  SYNC(0,1) SYNC(1,1) A_OPEN(0,1,N+1) A_OPEN(1,1,N+1)
#elif NEW>1
  A_OPEN(0,0,N+1) A_OPEN(1,0,N+1)
#endif
#if NOISE
  A_UNDO(0) A_UNDO(1) A_UNDO(2) A_UNDO(3)
#if M>4
  A_UNDO(4)
#endif
#if M>5
  A_UNDO(5)
#endif
#if M>6
  A_UNDO(6)
#endif
#endif
#if FLUSHES
  A_FLUSH(0) A_FLUSH(N)
#endif
#if RESTARTS
  A_RESTART
#endif
  od
}
