"""Words for months, weekdays, halves of a day and units of time in some eighty languages, in small
letters, no full stops: wide and short forms of Unicode's CLDR 46 (unicode.org/cldr), those
of the Persian, Islamic and Hebrew months, and parts of the day.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS = _words("""
    abe abendua abr abril abu abuztua adar ag aga agasti ago agost agosti agosto agrahayana agu
    agustus aib aibreán août api apirila apr aprel april aprile aprili aprilie aprill apríl
    apríla aprīlis ara aralık asadha asvina aug august augusta augusti augusts augustus
    augusztus av avg avgust avq avqust avr avril awst aza azaroa ağu ağustos bal balandis
    balandžio beal bealtaine bhadra birž birželio birželis bře březen března chaitra chw chwef
    chwefror cze czerwca czerwiec dec decembar december decembra decembrie decembris decembro
    dek dekabr des desemba desember desembre dets detsember dez dezember dezembro dfómh dhj
    dhjetor dic dicembre diciembre dis disemba disember disyembre dub duben dubna déc décembre
    d’abr d’abril d’ag d’agost d’oct d’octubre ean eanáir ebr ebrill eka ekaina eki ekim elo
    elokuu elokuuta elul ene enero eph ephreli eyl eylül feabh feabhra feb febbraio febr
    febreiro febrer febrero februar februari februarie february februwari február februára
    februāris febrúar fev fevereiro fevral févr février fómhair geg gegužė gegužės gen gener
    gennaio giu giugno gor gorff gorffennaf gru grudnia grudzień gruod gruodis gruodžio gush
    gusht haz haziran heinä heinäkuu heinäkuuta helmi helmikuu helmikuuta heshvan huhti
    huhtikuu huhtikuuta hul hulyo hun hunyo hyd hydref ian ianuarie ion ionawr ira iraila iul
    iulie iun iunie iyar iyl iyn iyul iyun iúil jaan jaanuar jan janar janeiro januar januari
    januarie january januwari január januára janv janvier janvāris janúar joulu joulukuu
    joulukuuta juil juillet juin jul julai julayi julho juli julie julij julio juliol july jun
    june junho juni junie junij junio juny juuli juuni jyaistha júl júla július júlí jún júna
    június júní jūl jūlijs jūn jūnijs kartika kas kasım kesä kesäkuu kesäkuuta kislev kol
    kolovoz kolovoza korr korrik kov kovas kovo kvě květen května kwi kwiecień kwietnia lapkr
    lapkritis lapkričio led leden ledna liep liepa liepos lip lipanj lipca lipiec lipnja lis
    listopad listopada listopadu loka lokakuu lokakuuta lug luglio lut lutego luty lún lúnasa
    maalis maaliskuu maaliskuuta maart mac machi mag maggio magha mai maiatza maig maijs maio
    maj maja mar marca march marec maret marras marraskuu marraskuuta mars marso mart martie
    marts martxoa marzec marzo març março mas mashi maw mawrth may mayo mayıs maí medi meh
    mehefin mei meith meitheamh mey meyi mfómh mrt muharram máj mája május márc március márta
    mär märts märz nis nisan nob nobyembre noiembrie noll nollaig nov novemba novembar november
    novembra novembre novembris novembro noviembre noy noyabr nën nëntor nóv nóvember oca ocak
    oct october octobre octombrie octubre ogo ogos okt oktabr okthoba oktoba oktobar oktober
    oktobris oktoober oktubre oktyabr október októbra ots otsaila ott ottobre out outubro ožu
    ožujak ožujka pausa paź październik października peb pebrero phalguna pri prill pro
    prosinac prosinca prosince prosinec qer qershor rajab ramadan ramazan rhag rhagfyr rugp
    rugpjūtis rugpjūčio rugs rugsėjis rugsėjo ruj rujan rujna safar samh samhain saus sausio
    sausis sen sentabr sentyabr sep sept septemba septembar september septembra septembre
    septembrie septembris septhemba septiembre set setembre setembro settembre setyembre shaban
    shawwal shevat shk shkurt sht shtator sie sierpień sierpnia sij siječanj siječnja sivan
    spal spalio spalis sravana srp srpanj srpen srpna srpnja stu studeni studenoga sty styczeń
    stycznia svi svibanj svibnja syys syyskuu syyskuuta szept szeptember tach tachwedd tammi
    tammikuu tammikuuta tammuz tem temmuz tet tetor tevet thg tháng tishrei tishri touko
    toukokuu toukokuuta tra travanj travnja urr urria urt urtarrila uzt uztaila vaisakha vas
    vasario vasaris veebr veebruar velj veljača veljače wrz wrzesień września xan xaneiro xul
    xullo xuño yan yanvar zář září ágú ágúst ápr április úno únor února červen července
    červenec června čvc čvn říj říjen října şub şubat απρ απρίλιοσ απριλίου αυγ αυγούστου αύγ
    αύγουστοσ δεκ δεκέμβριοσ δεκεμβρίου ιαν ιανουάριοσ ιανουαρίου ιουλ ιουλίου ιουν ιουνίου
    ιούλ ιούλιοσ ιούν ιούνιοσ μάι μάιοσ μάρ μάρτιοσ μαΐ μαΐου μαρ μαρτίου νοέ νοέμβριοσ νοε
    νοεμβρίου οκτ οκτωβρίου οκτώβριοσ σεπ σεπτέμβριοσ σεπτεμβρίου φεβ φεβρουάριοσ φεβρουαρίου
    авг август августа апр апрель апреля април ақп ақпан бер березень березня вер верасень
    верасня вересень вересня груд грудень грудня дек декабрь декабря декември дец децембар жел
    желтоқсан жні жнівень жніўня жовт жовтень жовтня июл июль июля июн июнь июня кас кастрычнік
    кастрычніка квіт квітень квітня кра красавік красавіка лип липень липня лист листопад
    листопада лют лютага лютий лютого люты ліп ліпень ліпеня ліс лістапад лістапада май мам
    мамыр мар март марта мау маусым мая мај нау наурыз нов новембар ное ноември нояб ноябрь
    ноября окт октобар октомври октябрь октября сак сакавік сакавіка сар сент сентябрь сентября
    сеп септембар септември серп серпень серпня сне снежань снежня сту студзень студзеня січ
    січень січня сәу сәуір там тамыз трав травень травня феб фебруар фев февр февраль февраля
    февруари черв червень червня чэр чэрвень чэрвеня шіл шілде юли юни янв январь января яну
    януари јан јануар јануари јул јули јун јуни қаз қазан қар қараша қаң қаңтар қыр қыркүйек
    ապր ապրիլ ապրիլի դեկ դեկտեմբեր դեկտեմբերի հլս հնս հնվ հոկ հոկտեմբեր հոկտեմբերի հուլիս
    հուլիսի հունիս հունիսի հունվար հունվարի մայիս մայիսի մարտ մարտի մյս մրտ նոյ նոյեմբեր
    նոյեմբերի սեպ սեպտեմբեր սեպտեմբերի փետրվար փետրվարի փտվ օգոստոս օգոստոսի օգս אוג אוגוסט אוק
    אוקטובר אפר אפריל דצמ דצמבר יולי יוני ינו ינואר מאי מרץ נוב נובמבר ספט ספטמבר פבר פברואר
    آبان آذر آوریل أبريل أغسطس أكتوبر اردیبهشت اسفند اوت اپریل اکتبر اکتوبر اګست اگست بهمن تیر
    جنوري جنوری جولائی جولای جون خرداد دسامبر دسمبر ديسمبر دی ذوالحجة ذوالقعدة رجب رمضان سبتمبر
    ستمبر سپتامبر سپتمبر سېپتمبر شعبان شهریور شوال صفر فبراير فبروري فروردین فروری فوریه
    فېبروري مئی مارس مارچ مايو محرم مرداد مه مهر مۍ نوامبر نوفمبر نومبر يناير يوليو يونيو
    ژانویه ژوئن ژوئیه अक्टूबर अक्टू॰ अक्टोबर अगस्ट अगस्त अग॰ अप्रिल अप्रैल एप्रि एप्रिल ऑक्टो
    ऑक्टोबर ऑग ऑगस्ट जनवरी जन॰ जाने जानेवारी जुन जुलाई जुलै जुल॰ जून डिसें डिसेंबर डिसेम्बर
    दिसंबर दिस॰ नवंबर नव॰ नोभेम्बर नोव्हें नोव्हेंबर फ़रवरी फ़र॰ फेब्रु फेब्रुअरी फेब्रुवारी मई
    मार्च मे सप्टें सप्टेंबर सितंबर सित॰ सेप्टेम्बर অক্টো অক্টোবর আগ আগস্ট এপ্রি এপ্রিল জানু
    জানুয়ারি জুন জুল জুলাই ডিসে ডিসেম্বর নভে নভেম্বর ফেব ফেব্রুয়ারি মার্চ মে সেপ সেপ্ট
    সেপ্টেম্বর ਅਕਤੂ ਅਕਤੂਬਰ ਅਗ ਅਗਸਤ ਅਪ੍ਰੈ ਅਪ੍ਰੈਲ ਜਨ ਜਨਵਰੀ ਜੁਲਾ ਜੁਲਾਈ ਜੂਨ ਦਸੰ ਦਸੰਬਰ ਨਵੰ ਨਵੰਬਰ ਫ਼ਰ
    ਫ਼ਰਵਰੀ ਮਈ ਮਾਰਚ ਸਤੰ ਸਤੰਬਰ એપ્રિલ ઑક્ટો ઑક્ટોબર ઑગસ્ટ જાન્યુ જાન્યુઆરી જુલાઈ જૂન ડિસે
    ડિસેમ્બર નવે નવેમ્બર ફેબ્રુ ફેબ્રુઆરી માર્ચ મે સપ્ટે સપ્ટેમ્બર அக் அக்டோபர் ஆக ஆகஸ்ட் ஏப்
    ஏப்ரல் செப் செப்டம்பர் ஜன ஜனவரி ஜூன் ஜூலை டிச டிசம்பர் நவ நவம்பர் பிப் பிப்ரவரி மார் மார்ச்
    மே అక్టో అక్టోబర్ ఆగ ఆగస్టు ఏప్రి ఏప్రిల్ జన జనవరి జులై జూన్ డిసెం డిసెంబర్ నవం నవంబర్
    ఫిబ్ర ఫిబ్రవరి మార్చి మే సెప్టెం సెప్టెంబర్ ಅಕ್ಟೋ ಅಕ್ಟೋಬರ್ ಆಗ ಆಗಸ್ಟ್ ಏಪ್ರಿ ಏಪ್ರಿಲ್ ಜನ ಜನವರಿ
    ಜುಲೈ ಜೂನ್ ಡಿಸೆಂ ಡಿಸೆಂಬರ್ ನವೆಂ ನವೆಂಬರ್ ಫೆಬ್ರ ಫೆಬ್ರವರಿ ಮಾರ್ಚ್ ಮೇ ಸೆಪ್ಟೆಂ ಸೆಪ್ಟೆಂಬರ್ ഏപ്രി
    ഏപ്രിൽ ഒക്ടോ ഓഗ ഓഗസ്റ്റ് ജനു ജനുവരി ജൂലൈ ജൂൺ ഡിസം ഡിസംബർ നവം നവംബർ ഫെബ്രു ഫെബ്രുവരി മാർ
    മാർച്ച് മേയ് സെപ്റ്റം സെപ്റ്റംബർ ඇසළ ඉල් උඳුවප් දුරුතු නවම් නිකිණි පොසොන් බක් බිනර මැදින්
    වප් වෙසක් ก.ค ก.พ ก.ย กรกฎาคม กันยายน กุมภาพันธ์ ต.ค ตุลาคม ธ.ค ธันวาคม พ.ค พ.ย พฤศจิกายน
    พฤษภาคม ม.ค มกราคม มิ.ย มิถุนายน มี.ค มีนาคม ส.ค สิงหาคม เม.ย เมษายน ກ.ຍ ກ.ພ ກ.ລ ກັນຍາ
    ກຸມພາ ກໍລະກົດ ຕ.ລ ຕຸລາ ທ.ວ ທັນວາ ພ.ຈ ພ.ພ ພະຈິກ ພຶດສະພາ ມ.ກ ມ.ນ ມ.ສ ມັງກອນ ມິ.ຖ ມິຖຸນາ ມີນາ
    ສ.ຫ ສິງຫາ ເມສາ စက် စက်တင်ဘာ ဇန် ဇန်နဝါရီ ဇူ ဇူလိုင် ဇွန် ဒီ ဒီဇင်ဘာ နို နိုဝင်ဘာ ဖေ
    ဖေဖော်ဝါရီ မတ် မေ အောက် အောက်တိုဘာ ဧ ဧပြီ ဩ ဩဂုတ် აგვ აგვისტო აპრ აპრილი დეკ დეკემბერი თებ
    თებერვალი იან იანვარი ივლ ივლისი ივნ ივნისი მაი მაისი მარ მარტი ნოე ნოემბერი ოქტ ოქტომბერი
    სექ სექტემბერი កក្កដា កញ្ញា កុម្ភៈ តុលា ធ្នូ មករា មិថុនា មីនា មេសា វិច្ឆិកា សីហា ឧសភា 一月
    七月 三月 九月 二月 五月 八月 六月 十一月 十二月 十月 四月
""")
WEEKDAYS = _words("""
    ah ahad ahd al alhamisi antradienis ao aoine ar asteartea asteazkena astelehena axşamı az b
    b.e ba bazar bil biy biyernes bảy c c.a ce ceturtd ceturtdiena ch chor chorshanba chủ cmt
    cn cs csütörtök ct cu cum cuma cumartesi czw czwartek cé céad céadaoin cümə dc dg di die
    diel dienstag dijous dilluns dim dimanche dimarts dimecres dinsdag dissabte diumenge
    divendres dj dl do dom domenica domh domhnaigh domingo donderdag donnerstag ds dt dum
    duminică dush dushanba dv dydd dé déar déardaoin e enj enjte ertəsi esmaspäev fi fim
    fimmtudagur fr fre fredag freitag fri friday fö fös föstudagur gio giovedì gw gwe gwen
    gwener h hai haoine hla huw huwebes hétfő hën hënë ia iau ig igandea ijumaa isn isnin
    isonto je jeu jeudi joi ju jue jueves jum juma jumaat jumamosi jumanne jumapili jumat
    jumatano jumatatu k kam kamis ke kedd keskiviikko keskiviikkona ketvirtadienis kh kha
    khamis kolmapäev kt l la larunbata lau lauantai lauantaina laugardagur laupäev lin linggo
    ll llun lr lu luain luan lun lundi lunedì lunes luni luns lö lör lördag lø lør lørdag ma
    maanantai maanantaina maandag man mandag mar mardi martedì martes martë marți maw mawrth me
    mer mercher mercoledì mercredi mgq mi mie miercuri min minggu mittwoch miy miyerkules mié
    miércoles mið miðvikudagur mo mon monday montag mso má máirt mán mánudagur må mån måndag mé
    mér mércores mër mërkurë n ne ned nedelja nedeľa nedjelja neděle neljapäev nhật nie niedz
    niedziela năm og ons onsdag or osteguna ostirala ot otrd otrdiena p pa pay payshanba paz
    pazar pazartesi pe penktadienis per perjantai perjantaina perşembe pet petak petek pi
    piatok piektd piektdiena pirmadienis pirmd pirmdiena pią piątek pk pn po pon pondelok
    pondělí ponedeljak ponedeljek ponedjeljak poniedziałek pr pre premte pt pzt pá pátek péntek
    pühapäev qua quarta-feira qui quinta-feira r ra rab rabu reede sa sab sabado sabato sabtu
    sad sadwrn sal salı sam samedi samstag sat saterdag sath sathairn saturday se seg
    segunda-feira sekmadienis sel selasa sen senin sesh seshanba sestd sestdiena sex
    sexta-feira sh shan shanba sht shtunë sin sk so sob sobota son sondag sonntag sr sre sreda
    sri srijeda st streda středa su sub subota sul sun sunday sunnudagur sunnuntai sunnuntaina
    sv svētd svētdiena sze szerda szo szombat sá sáb sábado sáu sâ sâm sâmbătă sö sön söndag sø
    søn søndag t teisipäev ter terça-feira th tha thu thursday thứ ti tiistai tiistaina tir
    tirs tirsdag tis tisdag tor torek tors torsdag torstai torstaina tr trečiadienis trešd
    trešdiena tu tue tuesday tư ulwesibili ulwesihlanu ulwesine ulwesithathu umgqibelo
    umsombuluko ut uto utorak utorok v vasárnap ve ven vendredi venerdì venres vi vie viernes
    vin vineri vr vrijdag vrydag we wed wednesday wo woensdag wt wto wtorek xo xov xoves ya yak
    yakshanba za zaterdag zo zondag ç ç.a ça çar çarşamba çərşənbə út úterý þr þri þriðjudagur
    če čet četrtek četvrtak čt čtvrtek śr śro środa ş şənbə šeštadienis št štvrtok δε δευ
    δευτέρα κυ κυρ κυριακή πέ πέμ πέμπτη πα παρ παρασκευή σά σάβ σάββατο τε τετ τετάρτη τρ τρί
    τρίτη аў аўторак ба баасан бейсенбі бс бя бямба воскресенье вс вт вто вторник вівторок да
    даваа дс дүйсенбі жексенбі жм жс жұма лх лхагва мя мягмар нд не нед недела неделя недеља
    неділя ня нядзеля ням пʼятниця панядзелак пе пет петак петок петък пн по пон понеделник
    понедельник понедељак понеділок пт пятница пятніца пү пүрэв саб сабота сб сейсенбі сенбі
    серада середа ср сре среда сряда сс су суб суббота субота събота сәрсенбі ут уто уторак
    чацвер че чет четвер четверг четвртак четврток четвъртък чт чц եկ երեքշաբթի երկ երկուշաբթի
    երք եք կիր կիրակի կր հգ հինգշաբթի հնգ շաբաթ շբ շբթ ու ուր ուրբաթ չորեքշաբթի չրք չք א ב ג ד
    ה ו חמישי יום ראשון רביעי ש שבת שישי שלישי שני أحد أربعاء إثنين اتوار الأحد الأربعاء
    الاثنين الثلاثاء الجمعة الخميس السبت اونۍ بدھ ثلاثاء ج جمعة جمعرات جمعه جمعہ خميس د دوشنبه
    س سبت سه ش شنبه منگل پ پنج پنجشنبه پیر چ چهارشنبه ہفتہ ی یکشنبه आइत आइतबार गु गुरु गुरुवार
    बिहि बिहिबार बु बुध बुधबार बुधवार मं मंगल मंगलवार मंगळ मंगळवार मङ्गल मङ्गलबार र रवि रविवार
    श शनि शनिबार शनिवार शु शुक्र शुक्रबार शुक्रवार सो सोम सोमबार सोमवार বুঃ বুধ বুধবার বৃঃ
    বৃহস্পতি বৃহস্পতিবার মঃ মঙ্গল মঙ্গলবার রঃ রবি রবিবার শনি শনিবার শুঃ শুক্র শুক্রবার সোঃ সোম
    সোমবার ਐਤ ਐਤਵਾਰ ਬੁੱਧ ਬੁੱਧਵਾਰ ਮੰਗ ਮੰਗਲ ਮੰਗਲਵਾਰ ਵੀਰ ਵੀਰਵਾਰ ਸ਼ਨੀ ਸ਼ਨੀਵਾਰ ਸ਼ੁੱਕ ਸ਼ੁੱਕਰ
    ਸ਼ੁੱਕਰਵਾਰ ਸੋਮ ਸੋਮਵਾਰ ગુ ગુરુ ગુરુવાર બુ બુધ બુધવાર મં મંગળ મંગળવાર ર રવિ રવિવાર શ શનિ
    શનિવાર શુ શુક્ર શુક્રવાર સો સોમ સોમવાર ச சனி செ செவ் செவ்வாய் ஞா ஞாயி ஞாயிறு தி திங்
    திங்கள் பு புத புதன் வி வியா வியாழன் வெ வெள் வெள்ளி ఆది ఆదివారం గురు గురువారం బుధ బుధవారం
    మం మంగళ మంగళవారం శని శనివారం శుక్ర శుక్రవారం సోమ సోమవారం ಗುರು ಗುರುವಾರ ಬುಧ ಬುಧವಾರ ಭಾನು
    ಭಾನುವಾರ ಮಂಗಳ ಮಂಗಳವಾರ ಶನಿ ಶನಿವಾರ ಶುಕ್ರ ಶುಕ್ರವಾರ ಸೋಮ ಸೋಮವಾರ ചൊ ചൊവ്വ ചൊവ്വാഴ്ച ഞാ ഞായർ തി
    തിങ്കൾ ബു ബുധൻ വെ വെള്ളി വ്യാ വ്യാഴം ശ ശനി අඟ අඟහ අඟහරුවාදා ඉරි ඉරිදා බදා බදාදා බ්‍රහ
    බ්‍රහස් බ්‍රහස්පතින්දා සඳු සඳුදා සිකු සිකුරාදා සෙන සෙනසුරාදා จ จันทร์ พ พฤ พฤหัส พุธ
    วันจันทร์ วันพฤหัสบดี วันพุธ วันศุกร์ วันอังคาร วันอาทิตย์ วันเสาร์ ศ ศุกร์ ส อ อังคาร อา
    อาทิตย์ เสาร์ ຈ ຈັນ ພ ພຫ ພະຫັດ ພຸດ ວັນຈັນ ວັນພະຫັດ ວັນພຸດ ວັນສຸກ ວັນອັງຄານ ວັນອາທິດ ວັນເສົາ
    ສ ສຸ ສຸກ ອ ອັງຄານ ອາ ອາທິດ ເສົາ ကြာ ကြာသပတေး ဂါ စနေ တနင်္ဂနွေ တနင်္လာ တေး နေ နွေ ဗုဒ္ဓဟူး
    လာ သောကြာ ဟူး အင်္ဂါ კვ კვი კვირა ოთ ოთხ ოთხშაბათი ორ ორშ ორშაბათი პარ პარასკევი პრ სამ
    სამშაბათი სმ შაბ შაბათი შბ ხთ ხუთ ხუთშაბათი ច ចន្ទ ច័ន្ទ ពុ ពុធ ព្រ ព្រហ ព្រហស្បតិ៍ ស សុ
    សុក្រ សៅរ៍ អ អង្គារ អា អាទិត្យ 一 三 二 五 六 周一 周三 周二 周五 周六 周四 周日 四 土
    土曜日 日 日曜日 星期一 星期三 星期二 星期五 星期六 星期四 星期日 月 月曜日 木 木曜日 水
    水曜日 火 火曜日 週一 週三 週二 週五 週六 週四 週日 金 金曜日 금 금요일 목 목요일 수 수요일
    월 월요일 일 일요일 토 토요일 화 화요일
""")
HALVES = _words("""
    a.m am ap dop dopoldne e.h em eparadites epasdites f.h fm i.n ip m.d nm odp p.d p.m
    paradite pasdite pg pm pop popiet popodne popoldne priekšp priekšpusdiena priekšpusdienā
    priešpiet prijepodne ptg pēcp pēcpusd pēcpusdiena pēcpusdienā r.n vm yb yh ös öö μ.μ π.μ дп
    попл пп претпл ү.х ү.ө ب.ظ بعدازظهر ص صباحًا ع.م غ.م غ.و ق.ظ م مساءً अपराह्न पूर्वाह्न ප.ව
    පෙ.ව ก่อนเที่ยง หลังเที่ยง ກ່ອນທ່ຽງ ຫຼັງທ່ຽງ ညနေ နံနက် 上午 下午 中午 傍晚 凌晨 午前 午後
    半夜 夜 夜裡 早上 晚上 朝 清晨 밤 새벽 아침 오전 오후 저녁
""")
"""What stands for am and pm."""
PARTS_OF_A_DAY = _words("""
    aamu aamulla aamupäivällä abend abends aften aftenen afternoon afternoons akşam alasiri
    après-midi asubuhi avond avonds chiều dimineaţa dimineața dopoledne după-amiaza délelőtt
    délután eftermiddagen este ettermiddagen evening evenings formiddagen früh förmiddagen gabi
    gece hapon ikindi illalla ilta iltapäivä iltapäivällä jioni jutro kveld kvelden kväll
    kvällen madrugada malam manhã matin mattina mattino mañana mchana medianoche mediodía
    mezzanotte mezzogiorno middag middagen middags midday midi midnight mittag mittags morgen
    morgenen morgens morgon morgonen morning mornings nachmittag nachmittags nacht nachts natt
    natten navečer night nights noaptea noche noci nocy nocą noite noon notte noću nuit ochtend
    ochtends odpoledne pagi petang pomeriggio popodne południe południu predvečer przedpołudniem
    prânz ranem rano reggel ráno sabah seara sera siang soir sore subuh sáng tanghali tarde
    tengahari trưa tối ujutro umaga usiku večer vormittag vormittags wieczorem wieczór yö yöllä
    éjjel éjszaka öğle öğleden öğlen đêm απόγευμα βράδυ μεσημέρι νύχτα πρωί вечер вечера вечерта
    вечора вечір день дня кешкі ночи ночь ночі нощта полдень ранице ранку ранок следобед сутрин
    таңғы түнгі түскі утра утро առավոտյան գիշերը երեկոյան ցերեկը בבוקר בוקר בלילה בערב בצהריים
    לילה ערב צהריים بامداد بعدازظهر دوپہر رات سہ شام شب صباحا صباحاً صبح ظهر ظهرا ظهراً عصر عصرا
    عصراً غروب فجرا فجراً ليلا ليلاً مساء مساءً दिउँसो दुपारी दोपहर बिहान बेलुका रात राति रात्री
    शाम संध्याकाळी सकाळी सवेरे सायं सुबह দুপুর বিকাল বিকেল ভোর রাত সকাল সন্ধ্যা ਦੁਪਹਿਰ ਰਾਤ ਸਵੇਰ
    ਸਵੇਰੇ ਸ਼ਾਮ બપોર બપોરે રાત રાત્રે સવાર સવારે સાંજ સાંજે இரவு காலை பிற்பகல் மதியம் மாலை ఉదయం
    మధ్యాహ్నం రాత్రి సాయంత్రం ಬೆಳಗ್ಗೆ ಬೆಳಿಗ್ಗೆ ಮಧ್ಯಾಹ್ನ ರಾತ್ರಿ ಸಂಜೆ ഉച്ച ഉച്ചയ്ക്ക് രാത്രി
    രാവിലെ വൈകിട്ട് വൈകുന്നേരം උදේ දහවල් පස්වරු පෙරවරු රාත්‍රී රෑ සවස คืน ค่ำ บ่าย สาย เช้า
    เที่ยง เย็น დილა დილის მატინა საღამო საღამოს ღამე ღამის შუადღე
""")
"""Morning to night, which stand for them too."""
UNITS = _words("""
    amahora amaminithi amasekhondi awr dak dakika daq daqiqa detik dk dtk dəq dəqiqə eil eiliad
    funud giây giờ godz godzin godzina godziny h heure heures hodin hodina hodiny hodín hora
    horas hores hour hours hr hrs ihora iminithi isekhondi j jam klo klst klukkustund
    klukkustundir m menit min minit mins minut minuta minute minuten minuter minutes minuti
    minutit minuto minutos minuts minutt minutter minutu minuty minutë minutė minutės minuut
    minuutti minuuttia minučių minút minúta minúty minūte minūtes minūšu mnt mp mun munud
    másodperc mín mínúta mínútur nóim o'clock ora oras ordu ore orë oră oʼclock p perc phút s
    sa saa saat san saniye saniyə sat sata sati sec second seconde seconden secondes secondi
    secondo seconds secs secunde secundă seg segon segons segundo segundos sek sekonda sekonde
    sekondes sekondë sekund sekunda sekunde sekunden sekunder sekundes sekundi sekundit sekundy
    sekundė sekundės sekundžių sekunti sekuntia sekunžu sekúnd sekúnda sekúndur shoic sn soat
    soic son soniya st std stunda stundas stunde stunden stundu t tim time timer timmar timme
    tiếng tund tundi tunti tuntia u uhr umzuzu ur ura ure uri uur val valanda valandos valandų
    ó óra č δ δευτ δευτερόλεπτα δευτερόλεπτο λ λεπτά λεπτό ώ ώρα ώρεσ гадз гадзін гадзіна
    гадзіны год годин година години м мин минут минута минути минуты с сат сата сати сағ сағат
    сек секунд секунда секунде секунди секунды хв хвилин хвилина хвилини хвілін хвіліна хвіліны
    ц цаг ч час часа часов ժ ժամ վ վայրկյան վրկ ր րոպե דק דקה דקות שנ שניה שניות שע שעה שעות
    שעתיים שתי ث ثانية ثانيتان ثانیه ثانیې ثوان د دقائق دقيقة دقيقتان دقیقه دقیقې س ساعات ساعة
    ساعت ساعتان سیکنڈ منٹ گھنٹہ گھنٹے घं घंटा घंटे घं॰ घण्टा ता तास बजे मि मिनट मिनिट मिनिटे
    मिनेट मि॰ से सेकंड सेकंद सेकेन्ड से॰ ঘঃ ঘণ্টা মিঃ মিনিট সেঃ সেকেন্ড ਘੰਟਾ ਘੰਟੇ ਮਿੰਟ ਸਕਿੰਟ ક
    કલાક મિ મિનિટ સે સેકંડ நிமி நிமிடங்கள் நிமிடம் ம மணிநேரம் வி விநாடி விநாடிகள் గం గంట గంటలు
    నిమి నిమిషం నిమిషాలు సె సెక సెకను సెకన్లు ಗಂ ಗಂಟೆ ಗಂಟೆಗಳು ನಿಮಿ ನಿಮಿಷ ನಿಮಿಷಗಳು ಸೆಕೆಂ
    ಸೆಕೆಂಡುಗಳು ಸೆಕೆಂಡ್ മണിക്കൂർ മിനിറ്റ് സെക്കൻഡ് ත තත් තත්පර පැය මි මිනි මිනිත්තු ชม ชั่วโมง น
    นาที นาฬิกา วิ วินาที ຊມ ຊົ່ວໂມງ ນທ ນາທີ ວິ ວິນາທີ စက္ကန့် နာရီ မိနစ် საათი სთ წამი წთ წმ
    წუთი នាទី ម៉ោង វិនាទី 分 分鐘 小時 時 時間 点 秒 點 분 시 초
""")
"""Hours, minutes, seconds."""
DAYS = _words("""
    dag dagar dage dagen dager day day(s) days dia dias dni dzień día días giorni giorno gün
    hari jour jours month months ngày päivä päivää semaine semaines tag tage tagen week weeks
    woche wochen день дн дней дня 个月 天 年 日 일 주
""")
"""Longer units, which are counted with a word like `ago`."""
AGO = _words("""
    acum ago dela ezedlule ezelőtt fa fyrir gelede geleden hace há lalu nakalipas oldin orain
    parë pirms pre pred prieš prije przed për před sedan siden sitten síðan temu trước vor
    zilizopita ôl önce əvvəl πριν бұрын назад пре преди таму тому өмнө לפני قبل مخکې منذ پہلے
    پیش पहले पहिले पूर्वी আগে ਪਹਿਲਾਂ પહેલાં முன் క్రితం ಹಿಂದೆ മുമ്പ് පෙර ที่ผ่านมา ที่แล้ว ກ່ອນ
    လွန်ခဲ့သည့် წინ មុន 前 전
""")
"""What makes a time of a length of time."""
