"""How numbers are called in words: cardinals and ordinals of sixteen languages.

Each list counts from one. Where a language joins tens and ones by a rule, the rule makes the rest.
"""

import unicodedata
from collections.abc import Iterator

_LISTS: dict[str, tuple[str, ...]] = {
    "en": (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen",
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
    ),
    "de": (
        "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn "
        "sechzehn siebzehn achtzehn neunzehn",
        "erste zweite dritte vierte funfte sechste siebte achte neunte zehnte elfte zwolfte "
        "dreizehnte vierzehnte funfzehnte sechzehnte siebzehnte achtzehnte neunzehnte",
    ),
    "fr": (
        "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "dix-sept dix-huit dix-neuf",
        "une",
        "premier deuxieme troisieme quatrieme cinquieme sixieme septieme huitieme neuvieme dixieme "
        "onzieme douzieme treizieme quatorzieme quinzieme seizieme dix-septieme dix-huitieme "
        "dix-neuvieme vingtieme",
        "premiere seconde",
    ),
    "es": (
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
        "dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres "
        "veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve",
        "una",
        "primera segunda tercera cuarta quinta sexta septima octava novena decima undecima "
        "duodecima decimotercera decimocuarta decimoquinta",
        "primero segundo tercero cuarto quinto sexto septimo octavo noveno decimo undecimo "
        "duodecimo decimotercero decimocuarto decimoquinto",
        "primer - tercer",
    ),
    "it": (
        "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
        "quindici sedici diciassette diciotto diciannove venti ventuno ventidue ventitre "
        "ventiquattro venticinque ventisei ventisette ventotto ventinove trenta trentuno",
        "prima seconda terza quarta quinta sesta settima ottava nona decima undicesima dodicesima "
        "tredicesima quattordicesima quindicesima",
        "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo "
        "tredicesimo quattordicesimo quindicesimo",
    ),
    "pt": (
        "um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze "
        "dezesseis dezessete dezoito dezenove",
        "uma duas - - - - - - - - - - - catorze - dezasseis dezassete - dezanove",
        "primeira segunda terceira quarta quinta sexta setima oitava nona decima",
        "primeiro segundo terceiro quarto quinto sexto setimo oitavo nono decimo",
    ),
    "nl": (
        "een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien "
        "zestien zeventien achttien negentien",
        "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde "
        "dertiende veertiende vijftiende",
    ),
    "sv": (
        "ett tva tre fyra fem sex sju atta nio tio elva tolv",
        "forsta andra tredje fjarde femte sjatte sjunde attonde nionde tionde elfte tolfte",
    ),
    "pl": (
        "jeden dwa trzy cztery piec szesc siedem osiem dziewiec dziesiec jedenascie dwanascie",
        "pierwsze drugie trzecie czwarte piate szoste siodme osme dziewiate dziesiate jedenaste "
        "dwunaste",
        "pierwsza druga trzecia czwarta piata szosta siodma osma dziewiata dziesiata",
        "pierwszy drugi trzeci czwarty piaty szosty siodmy osmy dziewiaty dziesiaty",
    ),
    "tr": (
        "bir iki üç dört beş altı yedi sekiz dokuz on on_bir on_iki",
        "birinci ikinci üçüncü dördüncü beşinci altıncı yedinci sekizinci dokuzuncu onuncu",
    ),
    "id": (
        "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas dua_belas",
        "pertama kedua ketiga keempat kelima keenam ketujuh kedelapan kesembilan kesepuluh",
    ),
    "vi": ("một hai ba bốn năm sáu bảy tám chín mười mười_một mười_hai", "nhất - - tư"),
    "ru": (
        "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
        "первый второй третий четвёртый пятый шестой седьмой восьмой девятый десятый "
        "одиннадцатый двенадцатый тринадцатый четырнадцатый пятнадцатый",
        "первая вторая третья четвёртая пятая шестая седьмая восьмая девятая десятая "
        "одиннадцатая двенадцатая",
        "первое второе третье четвёртое пятое шестое седьмое восьмое девятое десятое",
    ),
    "ar": (
        "واحد اثنان ثلاثة اربعة خمسة ستة سبعة ثمانية تسعة عشرة",
        "الاول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر",
        "الاولى الثانية الثالثة الرابعة الخامسة السادسة السابعة الثامنة التاسعة العاشرة",
    ),
    "hi": (
        "एक दो तीन चार पांच छह सात आठ नौ दस",
        "पहला दूसरा तीसरा चौथा पांचवां छठा सातवां आठवां नौवां दसवां",
        "- - - - पाँच छः",
    ),
    "ko": (
        "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 열하나 열둘",
        "첫 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두",
        "일 이 삼 사 오 육 칠 팔 구 십 십일 십이",
    ),
}
_TENS: dict[str, str] = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "nl": "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
}
_JOINS = {"en": ("-", " "), "fr": ("-", " et ", "-et-"), "es": (" y ",), "pt": (" e ",),
          "it": ("",)}  # fmt: skip
_TEN = 10


def called() -> dict[str, int]:
    """Every name of a number, plain."""
    names = {
        name.replace("_", " "): number
        for lists in _LISTS.values()
        for one in lists
        for number, name in enumerate(one.split(), 1)
        if name != "-"
    }
    names.update(pair for language in _TENS for pair in _by_tens(language))
    names.update(_in_french(names))
    names.update((name + end, number) for name, number in _germans(names) for end in "nrs")
    return {plain(name): number for name, number in names.items()}


def plain(text: str) -> str:
    """Small letters without accents."""
    letters = unicodedata.normalize("NFD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c)).replace("ß", "ss")


def _germans(names: dict[str, int]) -> list[tuple[str, int]]:
    """Ordinals, which have several ends."""
    known = {*_LISTS["de"][1].split(), *(name for name in names if name.endswith("igste"))}
    return [(name, names[name]) for name in known]


def _by_tens(language: str) -> Iterator[tuple[str, int]]:
    ones = _LISTS[language][0].split()[:9]
    for ten, word in enumerate(_TENS[language].split(), 2):
        yield word, _TEN * ten
        if language == "en":
            yield f"{word[:-1]}ieth", _TEN * ten
        if language in ("de", "nl"):
            yield f"{word}ste", _TEN * ten
        for one, small in enumerate(ones, 1):
            number = _TEN * ten + one
            if language in ("de", "nl"):
                small = "ein" if small == "eins" else small
                joined = f"{small}{'und' if language == 'de' else 'en'}{word}"
                yield from ((joined, number), (f"{joined}ste", number))
                continue
            for join in _JOINS[language]:
                yield f"{word}{join}{small}", number
                if language == "en":
                    yield f"{word}{join}{_LISTS['en'][1].split()[one - 1]}", number


def _in_french(names: dict[str, int]) -> Iterator[tuple[str, int]]:
    """From sixty to ninety-nine by twenties, and the ordinals of what is joined."""
    small = _LISTS["fr"][0].split()
    cardinals = {name: names[name] for name in names if name.split(" ")[0].split("-")[0] in _FRENCH}
    cardinals["quatre-vingts"] = 80
    for tens, word in ((60, "soixante"), (80, "quatre-vingt")):
        for number, one in enumerate(small, 1):
            cardinals[f"{word}-{one}"] = cardinals[f"{word} et {one}"] = tens + number
    for name, number in cardinals.items():
        yield name, number
        stem = name.removesuffix("e").removesuffix("s") if name.endswith("vingts") else name
        stem = stem.removesuffix("e")
        stem = {"neuf": "neuv", "cinq": "cinqu"}.get(stem[-4:], stem[-4:]).join((stem[:-4], ""))
        yield f"{stem}ieme", number


_FRENCH = frozenset(["vingt", "trente", "quarante", "cinquante", "soixante"])
